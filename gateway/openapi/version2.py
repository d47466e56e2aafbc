"""The OpenAPI v2 document, as JSON and as gnostic's protobuf message.

kubectl requests it only to validate a `kind: List` before it sends the items. For all else it uses version 3.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from gateway.jsontypes import JsonObject, dumps_plain, loads
from gateway.kinds.registry import Registry
from gateway.kinds.resource import Resource
from gateway.openapi.custom import custom_schemas
from gateway.openapi.earlier import paths_as_of, schemas_as_of
from gateway.openapi.gnostic import gnostic
from gateway.openapi.merge import DEFINITIONS, KINDS, Merged
from gateway.openapi.meta_kinds import of_all
from gateway.openapi.others import ExtensionDocuments
from gateway.openapi.paths import RESOURCE_LIST, paths_of
from gateway.openapi.schemas import PATCH, REFERENCE, schemas_of, types_of
from gateway.openapi.version2_paths import version_2_paths
from gateway.openapi.without_objects import PlainPath, pages
from gateway.release.release import Release
from gateway.schema.catalog import META

Resources = tuple[Resource, ...]
_Fragments = list[tuple[str, bytes]]  # members of a map: their names, and their encoded form in the document


@dataclass(frozen=True, slots=True)
class _Part:
    """The encoded paths and definitions of some resources, as JSON or as protobuf.

    They are kept compressed: those of 3,000 definitions take 100 MB otherwise, as much as the document.
    """

    made_of: Resources
    packed: bytes

    @classmethod
    def of(cls, made_of: Resources, paths: _Fragments, definitions: _Fragments) -> _Part:
        """A part with these fragments."""
        sizes = dumps_plain([[(name, len(data)) for name, data in each] for each in (paths, definitions)])
        contents = (data for _, data in (*paths, *definitions))
        return cls(made_of, zlib.compress(b"".join((len(sizes).to_bytes(4), sizes, *contents)), 1))

    def fragments(self) -> tuple[_Fragments, _Fragments]:
        """The fragments of paths and of definitions."""
        whole = zlib.decompress(self.packed)
        at = 4 + int.from_bytes(whole[:4])
        found: tuple[_Fragments, _Fragments] = ([], [])
        for into, sizes in zip(found, loads(whole[4:at]), strict=True):
            for name, size in sizes:
                into.append((name, whole[at : at + size]))
                at += size
        return found


class Version2:
    """The document of a registry. After a change, only the affected parts are made again."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._parts: dict[tuple[str, str, bool], _Part] = {}  # by group, version and representation

    def served(self) -> dict[tuple[str, str], Resources]:
        """The present resources for the document: by custom group version, and all other resources as ("", "")."""
        built_in: list[Resource] = []
        found: dict[tuple[str, str], Resources] = {}
        for group, versions in self._registry.groups.items():
            for version in versions:
                resources = self._registry.of_version(group, version)
                if all(each.custom for each in resources):
                    found[group, version] = resources
                else:
                    built_in += resources
        return {("", ""): tuple(built_in), **found}

    def document(
        self,
        served: Mapping[tuple[str, str], Resources],
        protobuf: bool = False,
        others: ExtensionDocuments | None = None,
    ) -> bytes:
        """The document as JSON or as an openapi.v2.Document. `served` is the result of `served()`.

        `others` adds the parts of extension API servers.
        """
        parts = [self._part(place, resources, protobuf) for place, resources in served.items()]
        known = {(*place, protobuf) for place in served}
        for place in [each for each in self._parts if each[2] is protobuf and each not in known]:
            del self._parts[place]
        paths, definitions = _gathered(parts)
        if others is not None:
            merged = self._merged(served, protobuf, others)
            paths = merged.paths | paths
            definitions |= merged.definitions
        return _joined(paths, definitions, protobuf, self._registry.release.minor)

    def _merged(
        self, served: Mapping[tuple[str, str], Resources], protobuf: bool, others: ExtensionDocuments
    ) -> Merged:
        """The parts of extension API servers. To find conflicts, they are compared with the own definitions in JSON."""
        own = [self._part(place, resources, False) for place, resources in served.items()]
        merged = Merged(_gathered(own)[1], _as_protobuf if protobuf else _as_json)
        for part in others.version_2():
            merged.add(part)
        return merged

    def _part(self, place: tuple[str, str], resources: Resources, protobuf: bool) -> _Part:
        known = self._parts.get((*place, protobuf))
        if known is not None and known.made_of == resources:
            return known
        others = () if place != ("", "") else pages(self._registry)
        content = _content(resources, others, self._registry.release)
        encode = _as_protobuf if protobuf else _as_json
        made = _Part.of(
            resources,
            [(name, encode("Paths", name, value)) for name, value in content["paths"].items()],
            [(name, encode("Definitions", name, value)) for name, value in content["definitions"].items()],
        )
        self._parts[*place, protobuf] = made
        return made


def _gathered(parts: Iterable[_Part]) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """The encoded paths and definitions of all parts. Of definitions with the same name the first one counts."""
    paths: dict[str, bytes] = {}
    definitions: dict[str, bytes] = {}
    for part in parts:
        own, more = part.fragments()
        paths.update(own)
        for name, content in more:
            definitions.setdefault(name, content)
    return paths, definitions


def _as_json(_map: str, name: str, value: JsonObject) -> bytes:
    return dumps_plain(name) + b":" + dumps_plain(value)


def _as_protobuf(map_: str, name: str, value: JsonObject) -> bytes:
    return gnostic(2).content(map_, {name: value})


def _joined(paths: Mapping[str, bytes], definitions: Mapping[str, bytes], protobuf: bool, minor: str) -> bytes:
    """Joins the encoded paths and definitions, sorted by name, to a document. `minor` is the version in its info."""
    head = {"swagger": "2.0", "info": {"title": "Kubernetes", "version": minor}}
    security = {
        "securityDefinitions": {"BearerToken": {"type": "apiKey", "name": "authorization", "in": "header"}},
        "security": [{"BearerToken": []}],
    }
    if protobuf:
        listed = {"paths": b"".join(_by_name(paths)), "definitions": b"".join(_by_name(definitions))}
        return gnostic(2).document({**head, **listed, **security})
    pieces = [dumps_plain(head)[:-1]]
    for name, content in (("paths", paths), ("definitions", definitions)):
        pieces += (b",", dumps_plain(name), b":{")
        for number, each in enumerate(_by_name(content)):
            pieces += (b"," if number else b"", each)
        pieces.append(b"}")
    return b"".join([*pieces, b",", dumps_plain(security)[1:]])


def _by_name(content: Mapping[str, bytes]) -> Iterator[bytes]:
    return (content[name] for name in sorted(content))


def _content(resources: Resources, others: Iterable[PlainPath], release: Release) -> JsonObject:
    """The paths and definitions of some resources in a release, and of `others`, pages without resources.

    Definitions that custom kinds share with built-in ones are only in the part of the built-in ones.
    """
    minor, registered = release.binary, of_all(release)
    definitions: JsonObject = {}
    paths: JsonObject = {}
    by_version: dict[tuple[str, str], list[Resource]] = {}
    for page in others:
        paths |= version_2_paths(page.paths)
        definitions |= {name: _converted(schema) for name, schema in page.schemas.items()}
    for resource in resources:
        by_version.setdefault((resource.group, resource.version), []).append(resource)
    for served in by_version.values():
        paths |= version_2_paths(paths_as_of(minor, paths_of(tuple(served))))
        schemas = custom_schemas(served, version_2=True)
        if not all(each.custom for each in served):
            schemas = schemas_as_of(minor, schemas_of(_roots(served), registered)) | schemas
        for name, schema in schemas.items():
            _add_kinds(definitions.setdefault(name, _converted(schema)), schema)
    return {"paths": paths, "definitions": definitions}


def _roots(resources: Iterable[Resource]) -> list[str]:
    roots = [META + name for name in ("Status", "DeleteOptions", "WatchEvent")] + [PATCH, RESOURCE_LIST]
    return [*roots, *types_of(resources)]


def _add_kinds(known: JsonObject, schema: JsonObject) -> None:
    """Adds the kinds of `schema` to a known definition: a type of several groups is in the document once."""
    kinds = known.get(KINDS, [])
    more = [kind for kind in schema.get(KINDS, ()) if kind not in kinds]
    if more:
        known[KINDS] = [*kinds, *more]


def _converted(schema: JsonObject) -> JsonObject:
    """Converts a schema of version 3 to version 2, which has no oneOf and no members beside a reference."""
    if "allOf" in schema:
        extensions = {key: value for key, value in schema.items() if key == "description" or key.startswith("x-")}
        return {**_converted(schema["allOf"][0]), **extensions}
    if "$ref" in schema:
        return {"$ref": DEFINITIONS + schema["$ref"].removeprefix(REFERENCE)}
    found = {key: value for key, value in schema.items() if key not in ("oneOf", "default")}
    if "oneOf" in schema:
        found["type"] = "string"
    if "properties" in schema:
        found["properties"] = {name: _converted(value) for name, value in schema["properties"].items()}
    for key in ("items", "additionalProperties"):
        if key in schema:
            found[key] = _converted(schema[key])
    return found
