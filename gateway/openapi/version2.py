"""The OpenAPI v2 document, as JSON and as gnostic's protobuf message.

kubectl asks for it only to validate a `kind: List` before it sends the items; all else it finds in version 3.
"""

from __future__ import annotations

from gateway.jsontypes import JsonObject, dumps
from gateway.kinds.registry import Registry
from gateway.openapi.custom import custom_schemas
from gateway.openapi.gnostic import gnostic
from gateway.openapi.paths import RESOURCE_LIST, paths_of
from gateway.openapi.schemas import PATCH, REFERENCE, schemas_of
from gateway.openapi.version2_paths import version_2_paths
from gateway.schema.catalog import META, document

_DEFINITIONS = "#/definitions/"
_KINDS = "x-kubernetes-group-version-kind"


def json_document(registry: Registry) -> bytes:
    """The document as JSON."""
    return dumps(_document(registry))


def protobuf_document(registry: Registry) -> bytes:
    """The document as an openapi.v2.Document."""
    return gnostic(2).document(_document(registry))


def _document(registry: Registry) -> JsonObject:
    definitions: JsonObject = {}
    paths: JsonObject = {}
    for group, versions in registry.groups.items():
        for version in versions:
            resources = registry.of_version(group, version)
            paths |= version_2_paths(paths_of(resources))
            custom = custom_schemas(resources, version_2=True)
            for name, schema in (schemas_of(_roots(registry, group, version), group, version) | custom).items():
                known = definitions.setdefault(name, _converted(schema))
                _add_kinds(known, schema)
    return {
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": document()["version"]},
        "paths": dict(sorted(paths.items())),
        "definitions": dict(sorted(definitions.items())),
        "securityDefinitions": {"BearerToken": {"type": "apiKey", "name": "authorization", "in": "header"}},
        "security": [{"BearerToken": []}],
    }


def _roots(registry: Registry, group: str, version: str) -> list[str]:
    roots = [META + name for name in ("Status", "DeleteOptions", "WatchEvent")] + [PATCH, RESOURCE_LIST]
    for resource in registry.of_version(group, version):
        if not resource.kind.endswith("Options"):
            if resource.custom:
                roots += [META + "ObjectMeta", META + "ListMeta"]
                continue
            roots.append(resource.type_name)
            if "list" in resource.verbs:
                roots.append(f"{resource.type_name}List")
    return roots


def _add_kinds(known: JsonObject, schema: JsonObject) -> None:
    """A type of several groups stands in the document once, with the kinds of all."""
    kinds = known.get(_KINDS, [])
    more = [kind for kind in schema.get(_KINDS, ()) if kind not in kinds]
    if more:
        known[_KINDS] = [*kinds, *more]


def _converted(schema: JsonObject) -> JsonObject:
    """A schema of version 3 as one of version 2, which has neither oneOf nor anything beside references."""
    if "allOf" in schema:
        extensions = {key: value for key, value in schema.items() if key == "description" or key.startswith("x-")}
        return {**_converted(schema["allOf"][0]), **extensions}
    if "$ref" in schema:
        return {"$ref": _DEFINITIONS + schema["$ref"].removeprefix(REFERENCE)}
    found = {key: value for key, value in schema.items() if key not in ("oneOf", "default")}
    if "oneOf" in schema:
        found["type"] = "string"
    if "properties" in schema:
        found["properties"] = {name: _converted(value) for name, value in schema["properties"].items()}
    for key in ("items", "additionalProperties"):
        if key in schema:
            found[key] = _converted(schema[key])
    return found
