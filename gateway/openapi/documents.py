"""The OpenAPI v3 documents, each made at its first request, and their index."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from importlib.resources import files

from gateway.jsontypes import JsonObject, dumps
from gateway.kinds.registry import Registry
from gateway.memo import Recent
from gateway.openapi.custom import custom_schemas
from gateway.openapi.earlier import FILE as EARLIER
from gateway.openapi.earlier import paths_as_of, schemas_as_of
from gateway.openapi.gnostic import gnostic
from gateway.openapi.meta_kinds import of_definitions, of_version
from gateway.openapi.paths import RESOURCE_LIST, paths_of
from gateway.openapi.schemas import PATCH, schemas_of, types_of
from gateway.openapi.without_objects import pages
from gateway.schema import descriptions
from gateway.schema.catalog import META

ROOT = "/openapi/v3"
_INFO_OF_DEFINITIONS = {"title": "Kubernetes CRD Swagger", "version": "v0.1.0"}
_SECURITY = {"BearerToken": {"type": "apiKey", "name": "authorization", "in": "header"}}


_MOST, _SIZE = 1000, 32 << 20  # documents that are kept, and their bytes: all built-in ones take 6 MB


class Documents:
    """The OpenAPI v3 documents of a registry."""

    def __init__(self, registry: Registry, catalogued: bool = False) -> None:
        """`catalogued` leaves out what an earlier minor has otherwise than the catalog."""
        self._registry = registry
        self._as = "" if catalogued else registry.release.binary
        self._made: Recent[tuple[str, bool], bytes] = Recent(_MOST, _SIZE, _SIZE)
        self._hashes: dict[str, str] = {}
        self._places = {
            f"apis/{group}/{version}" if group else f"api/{version}": (group, version)
            for group, versions in registry.groups.items()
            for version in versions
        }
        self._pages = {page.place: page for page in pages(registry)}
        source = files("gateway.schema").joinpath("catalog.json").read_bytes() + dumps(registry.release.version_info())
        source += EARLIER.read_bytes()
        self._digest = hashlib.sha512(source + descriptions.source().encode())

    @property
    def places(self) -> Collection[str]:
        """The places of all documents: "api/v1", "apis/apps/v1", "version"."""
        return {**self._pages, **self._places}

    def index(self, others: Mapping[str, str]) -> bytes:
        """The JSON index of all documents. A document's URL has a hash of its content, so clients may cache it forever.

        `others` has the URLs of extension API servers' documents by place.
        """
        places = {place: {"serverRelativeURL": f"{ROOT}/{place}?hash={self.hash_of(place)}"} for place in self.places}
        places |= {place: {"serverRelativeURL": url} for place, url in others.items()}
        return dumps({"paths": dict(sorted(places.items()))})

    def hash_of(self, place: str) -> str:
        """A hash that changes with the document's content and with the release, in hexadecimal."""
        known = self._hashes.get(place)
        if known is not None:
            return known
        digest = self._digest.copy()
        digest.update(place.encode())
        group, version = self._places.get(place, ("", ""))
        for resource in self._registry.of_version(group, version):
            if resource.custom:
                digest.update(dumps([resource.resource, resource.subresource, resource.model_version.openapi]))
        made = digest.hexdigest().upper()
        if place in self._places or place in self._pages:  # a client may ask for any place
            self._hashes[place] = made
        return made

    def document(self, place: str, protobuf: bool = False) -> bytes | None:
        """The document of a place, as JSON or as gnostic's message; None for an unknown place.

        The first call for a place takes tens of milliseconds.
        """
        made = self._made.find((place, protobuf))
        if made is None and place in self.places:
            content = self._made_of_page(place) if place in self._pages else self._make(*self._places[place])
            made = gnostic(3).document(content) if protobuf else dumps(content)
            self._made.keep((place, protobuf), made, len(made))
        return made

    def _made_of_page(self, place: str) -> JsonObject:
        page = self._pages[place]
        schemas, info = page.schemas, {"title": "Kubernetes", "version": self._registry.release.minor}
        components = {**({"schemas": schemas} if schemas else {}), "securitySchemes": _SECURITY}
        return {"openapi": "3.0.0", "info": info, "paths": page.paths, "components": components}

    def _make(self, group: str, version: str) -> JsonObject:
        resources = self._registry.of_version(group, version)
        kept = any("delete" in resource.verbs for resource in resources)  # false for groups that have only reviews
        roots = [META + "Status", META + "DeleteOptions", PATCH] if kept else []
        defined = all(resource.defined for resource in resources)
        if defined:
            registered = of_definitions(self._registry.release)
        else:
            registered = of_version(group, version)
            roots += [META + "WatchEvent", RESOURCE_LIST] if kept else [RESOURCE_LIST]  # not in those of CRDs
        roots += types_of(resources)
        schemas = schemas_as_of(self._as, schemas_of(roots, registered), not defined)
        components = {"schemas": schemas | custom_schemas(resources)}
        info = {"title": "Kubernetes", "version": self._registry.release.minor}
        if defined:
            info = _INFO_OF_DEFINITIONS
        else:
            components["securitySchemes"] = _SECURITY
        return {
            "openapi": "3.0.0",
            "info": info,
            "paths": paths_as_of(self._as, paths_of(resources)),
            "components": components,
        }
