"""Decides whether stored objects are read in the same way after a change of their CRD. If so, watches go on.

Reading prunes, defaults and converts. It depends on types, members, defaults and versions. It does not depend on parts
for display (columns, short names, categories, descriptions) or for validation (patterns, bounds, rules).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from gateway.jsontypes import JsonObject
from gateway.time_limits import look

# keywords of a schema that do not affect how objects are read
_JUDGES = frozenset(
    {
        *("description", "title", "example", "externalDocs"),
        *("pattern", "minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
        *("multipleOf", "enum", "required", "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties"),
        *("allOf", "anyOf", "oneOf", "not", "x-kubernetes-validations"),
        *("x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type"),
    }
)
_SHOWN = frozenset({"additionalPrinterColumns", "deprecated", "deprecationWarning", "schema", "subresources"})
_NAMES = ("plural", "kind")


class ModelOrigin(NamedTuple):
    """The parts of a CRD that its model depends on: its spec, its accepted names and its uid."""

    spec: JsonObject
    names: JsonObject
    uid: object


def reads_alike(before: ModelOrigin, after: ModelOrigin) -> bool:
    """Whether both CRDs read every stored object alike, in every served version and for every selector.

    Raises TakesLong on an event loop for large schemas.
    """
    return before == after or (before.uid == after.uid and _reading(before) == _reading(after))


def _reading(origin: ModelOrigin) -> list[Any]:
    spec = origin.spec
    versions = {version["name"]: _of_version(version) for version in spec.get("versions") or ()}
    rest = {name: value for name, value in spec.items() if name not in ("names", "versions")}
    return [rest, [origin.names.get(name) for name in _NAMES], versions]


def _of_version(version: JsonObject) -> list[Any]:
    rest = {name: value for name, value in version.items() if name not in _SHOWN}
    return [rest, _of_schema((version.get("schema") or {}).get("openAPIV3Schema"))]


def _of_schema(schema: Any) -> Any:
    """A schema without the keywords in `_JUDGES`. In `properties`, the keys are names of members, not keywords."""
    if not isinstance(schema, dict):
        return schema
    look()
    found = {name: value for name, value in schema.items() if name not in _JUDGES}
    for name in ("items", "additionalProperties"):
        if name in found:
            found[name] = _of_schema(found[name])
    if "properties" in found:
        found["properties"] = {name: _of_schema(value) for name, value in (found["properties"] or {}).items()}
    return found
