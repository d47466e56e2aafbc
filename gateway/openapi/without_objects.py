"""The documents of paths without resources: discovery, the version, and OpenID configuration and keys."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gateway.jsontypes import JsonObject
from gateway.kinds.registry import Registry
from gateway.openapi.merge import KINDS
from gateway.openapi.meta_kinds import CORE, kinds_of
from gateway.openapi.paths import JSON_TYPES, content_of, words_of
from gateway.openapi.schemas import schemas_of
from gateway.schema.catalog import META, document

_VERSION = "io.k8s.apimachinery.pkg.version.Info"
_SAYS = ("major", "minor", "gitVersion", "gitCommit", "gitTreeState", "buildDate", "goVersion", "compiler", "platform")
_MAY_SAY = ("emulationMajor", "emulationMinor", "minCompatibilityMajor", "minCompatibilityMinor")
_JSON = ("application/json",)


@dataclass(frozen=True, slots=True)
class PlainPath:
    """A path with the single operation GET. `type` is the name of the response's type, "" for text."""

    place: str
    tag: str
    operation: str
    media_types: tuple[str, ...]
    type: str = ""

    @property
    def paths(self) -> JsonObject:
        """The item of the path in a document of version 3."""
        text = {media_type: {"schema": {"type": "string"}} for media_type in self.media_types}
        content = content_of(self.media_types, self.type) if self.type else text
        answers = {"200": {"description": "OK", "content": content}, "401": {"description": "Unauthorized"}}
        return {f"/{self.place}/": {"get": {"tags": [self.tag], "operationId": self.operation, "responses": answers}}}

    @property
    def schemas(self) -> JsonObject:
        """The schemas of the response."""
        if self.type == _VERSION:
            return {_VERSION: _version()}
        found = schemas_of([self.type], CORE) if self.type else {}
        return {name: _completed(name, schema) for name, schema in found.items()}


def _completed(name: str, schema: JsonObject) -> JsonObject:
    """The schema of a discovery type. The catalog has only its Go type: fields without omitempty are required."""
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
    PlainPath(".well-known/openid-configuration", "WellKnown", "getServiceAccountIssuerOpenIDConfiguration", _JSON),
    PlainPath("api", "core", "getCoreAPIVersions", JSON_TYPES, META + "APIVersions"),
    PlainPath("apis", "apis", "getAPIVersions", JSON_TYPES, META + "APIGroupList"),
    PlainPath("openid/v1/jwks", "openid", "getServiceAccountIssuerOpenIDKeyset", ("application/jwk-set+json",)),
    PlainPath("version", "version", "getCodeVersion", _JSON, _VERSION),
)


def pages(registry: Registry) -> tuple[PlainPath, ...]:
    """All pages: the fixed ones, and one for each group that is not only of CustomResourceDefinitions."""
    return (*_ALWAYS, *(_of_group(group) for group in _built_in(registry)))


def _built_in(registry: Registry) -> Iterable[str]:
    for group, versions in registry.groups.items():
        if group and not all(each.defined for version in versions for each in registry.of_version(group, version)):
            yield group


def _of_group(group: str) -> PlainPath:
    words = words_of(group)
    tag = f"{words[0].lower()}{words[1:]}"
    return PlainPath(f"apis/{group}", tag, f"get{words}APIGroup", JSON_TYPES, META + "APIGroup")
