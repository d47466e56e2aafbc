"""The documents of what has no objects: discovery, the version, and OpenID's configuration and keys."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gateway.jsontypes import JsonObject
from gateway.kinds.registry import Registry
from gateway.openapi.merging import KINDS
from gateway.openapi.meta_kinds import CORE, kinds_of
from gateway.openapi.paths import JSON_TYPES, content_of, words_of
from gateway.openapi.schemas import schemas_of
from gateway.schema.catalog import META, document

_VERSION = "io.k8s.apimachinery.pkg.version.Info"
_SAYS = ("major", "minor", "gitVersion", "gitCommit", "gitTreeState", "buildDate", "goVersion", "compiler", "platform")
_MAY_SAY = ("emulationMajor", "emulationMinor", "minCompatibilityMajor", "minCompatibilityMinor")
_JSON = ("application/json",)


@dataclass(frozen=True, slots=True)
class Page:
    """A path with one operation, GET; without the name of a type it is answered text."""

    place: str
    tag: str
    operation: str
    media_types: tuple[str, ...]
    type: str = ""

    @property
    def paths(self) -> JsonObject:
        """The path and what it takes and answers."""
        text = {media_type: {"schema": {"type": "string"}} for media_type in self.media_types}
        content = content_of(self.media_types, self.type) if self.type else text
        answers = {"200": {"description": "OK", "content": content}, "401": {"description": "Unauthorized"}}
        return {f"/{self.place}/": {"get": {"tags": [self.tag], "operationId": self.operation, "responses": answers}}}

    @property
    def schemas(self) -> JsonObject:
        """The schemas that its answer leads to."""
        if self.type == _VERSION:
            return {_VERSION: _version()}
        found = schemas_of([self.type], CORE) if self.type else {}
        return {name: _completed(name, schema) for name, schema in found.items()}


def _completed(name: str, schema: JsonObject) -> JsonObject:
    """A type of discovery, of which the catalog has Go's facts alone: what is never left out is required."""
    fields, kind = document()["types"][name]["fields"], name.removeprefix(META)
    lists = {"x-kubernetes-list-type": "atomic"}
    properties = {
        key: value | (lists if value.get("type") == "array" else {}) for key, value in schema["properties"].items()
    }
    made = {**schema, "required": [each["name"] for each in fields if not each.get("omit")], "properties": properties}
    return {**made, KINDS: kinds_of(kind, CORE)} if "kind" in properties else made


def _version() -> JsonObject:
    fields: JsonObject = {name: {"type": "string", "default": ""} for name in _SAYS}
    fields |= {name: {"type": "string"} for name in _MAY_SAY}
    return {"type": "object", "required": list(_SAYS), "properties": dict(sorted(fields.items()))}


_ALWAYS = (
    Page(".well-known/openid-configuration", "WellKnown", "getServiceAccountIssuerOpenIDConfiguration", _JSON),
    Page("api", "core", "getCoreAPIVersions", JSON_TYPES, META + "APIVersions"),
    Page("apis", "apis", "getAPIVersions", JSON_TYPES, META + "APIGroupList"),
    Page("openid/v1/jwks", "openid", "getServiceAccountIssuerOpenIDKeyset", ("application/jwk-set+json",)),
    Page("version", "version", "getCodeVersion", _JSON, _VERSION),
)


def pages(registry: Registry) -> tuple[Page, ...]:
    """All of them; a group that only definitions have has none."""
    return (*_ALWAYS, *(_of_group(group) for group in _built_in(registry)))


def _built_in(registry: Registry) -> Iterable[str]:
    for group, versions in registry.groups.items():
        if group and not all(each.defined for version in versions for each in registry.of_version(group, version)):
            yield group


def _of_group(group: str) -> Page:
    words = words_of(group)
    tag = f"{words[0].lower()}{words[1:]}"
    return Page(f"apis/{group}", tag, f"get{words}APIGroup", JSON_TYPES, META + "APIGroup")
