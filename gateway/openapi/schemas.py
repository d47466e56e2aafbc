"""Makes OpenAPI v3 schemas of the catalog's types, with descriptions if these are installed.

The schemas have Kubernetes' extensions: list types and map keys, patch strategies, and the group, version and kind of
top-level types.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from gateway.jsontypes import JsonObject
from gateway.kinds.resource import Resource
from gateway.openapi.meta_kinds import CORE, Versions, kinds_of
from gateway.release.early_versions import EARLY, is_early
from gateway.schema.catalog import META, Catalog, served
from gateway.schema.descriptions import description_of

REFERENCE = "#/components/schemas/"
PATCH = META + "Patch"

_SCALARS: dict[str, JsonObject] = {
    "string": {"type": "string"},
    "int32": {"type": "integer", "format": "int32"},
    "int64": {"type": "integer", "format": "int64"},
    "float64": {"type": "number", "format": "double"},
    "bool": {"type": "boolean"},
    "[]uint8": {"type": "string", "format": "byte"},
    "interface {}": {"type": "object"},
}
_ZERO = {"string": "", "int32": 0, "int64": 0, "float64": 0, "bool": False}
_EXTENSIONS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."
_OWN: dict[str, JsonObject] = {
    META + "Time": {"type": "string", "format": "date-time"},
    META + "MicroTime": {"type": "string", "format": "date-time"},
    META + "Duration": {"type": "string"},
    META + "FieldsV1": {"type": "object"},
    PATCH: {"type": "object"},
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {"oneOf": [{"type": "string"}, {"type": "number"}]},
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {
        "oneOf": [{"type": "integer"}, {"type": "string"}],
        "format": "int-or-string",
    },
    "io.k8s.apimachinery.pkg.runtime.RawExtension": {"type": "object"},
    _EXTENSIONS + "JSON": {},
    _EXTENSIONS + "JSONSchemaPropsOrArray": {},
    _EXTENSIONS + "JSONSchemaPropsOrBool": {},
    _EXTENSIONS + "JSONSchemaPropsOrStringArray": {},
}


def types_of(resources: Iterable[Resource]) -> list[str]:
    """The names of the catalog's types to which the documents of some resources refer: objects and lists.

    Custom kinds have schemas of their own. They refer only to metadata in the catalog.
    """
    found: list[str] = []
    for resource in resources:
        if resource.kind.endswith("Options"):
            continue
        if resource.custom:
            found += [META + "ObjectMeta", META + "ListMeta"]
            continue
        found.append(resource.type_name)
        if "list" in resource.verbs:
            found.append(f"{resource.type_name}List")
    return found


def schemas_of(roots: Iterable[str], registered: Versions) -> JsonObject:
    """Schemas by definition name: those of `roots` and of all types to which they refer.

    DeleteOptions and WatchEvent are listed as kinds of the group versions in `registered`.
    """
    found: JsonObject = {}
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name not in found:
            schema, references = _schema(served(), name)
            kinds = _kinds(name, registered)
            found[name] = {**schema, "x-kubernetes-group-version-kind": kinds} if kinds else schema
            waiting += references
    return dict(sorted(found.items()))


@cache
def _kinds_by_type(catalog: Catalog) -> dict[str, list[JsonObject]]:
    kinds: dict[str, list[JsonObject]] = {}
    for written, name in catalog.document["kinds"].items():
        group, version, kind = written.split("/")
        kinds.setdefault(name, []).append({"group": group, "kind": kind, "version": version})
    return kinds


def _kinds(name: str, registered: Versions) -> list[JsonObject]:
    """The group, version and kind of each kind that has this type."""
    if name == META + "Status":
        return kinds_of("Status", CORE)
    if name in (META + "DeleteOptions", META + "WatchEvent"):
        return kinds_of(name.removeprefix(META), registered)
    return _kinds_by_type(served()).get(name) or _early_kinds(name)


def _early_kinds(name: str) -> list[JsonObject]:
    *_, group, version, kind = ["", "", *name.split(".")]
    own = next((each for each in EARLY if each[0].partition(".")[0] == group and each[1] == version), None)
    if own is None or not is_early(*own, kind.removesuffix("List")):
        return []
    return [{"group": own[0], "kind": kind, "version": version}]


@cache
def _schema(catalog: Catalog, name: str) -> tuple[JsonObject, tuple[str, ...]]:
    """A named type's schema, and the names of the types to which it refers."""
    entry = catalog.entry(name) or {}
    described = description_of(name)
    about: JsonObject = {"description": described.text} if described.text else {}
    if name in _OWN:
        return {**about, **_OWN[name]}, ()
    schema: JsonObject = {**about, "type": "object"}
    references: list[str] = []
    properties = {}
    for facts in entry.get("fields", ()):
        properties[facts["name"]] = _described(_property(facts, references), described.fields.get(facts["name"], ""))
    if properties:
        schema["properties"] = properties
    required = [facts["name"] for facts in entry.get("fields", ()) if facts.get("required")]
    if required:
        schema["required"] = required
    for fact, keyword in (("atomic", "x-kubernetes-map-type"), ("unions", "x-kubernetes-unions")):
        if value := entry.get(fact):
            schema[keyword] = fact if fact == "atomic" else value
    return schema, tuple(references)


def _described(schema: JsonObject, text: str) -> JsonObject:
    """A field's schema with the field's description, or else with the description of its type."""
    if not text and "allOf" in schema:
        text = description_of(schema["allOf"][0]["$ref"].removeprefix(REFERENCE)).text
    return {"description": text, **schema} if text else schema


def _property(facts: JsonObject, references: list[str]) -> JsonObject:
    expression: str = facts["type"]
    schema = dict(_value(expression, references))
    if facts.get("plain"):
        return dict(schema["allOf"][0])
    if each := facts.get("each"):
        inside = "items" if "items" in schema else "additionalProperties"
        schema[inside] = {**schema[inside], "enum": each}
    if (default := _default(facts, is_struct="allOf" in schema)) is not None:
        schema["default"] = default
    for fact, keyword in (
        ("enum", "enum"),
        ("list", "x-kubernetes-list-type"),
        ("keys", "x-kubernetes-list-map-keys"),
        ("map", "x-kubernetes-map-type"),
        ("patch", "x-kubernetes-patch-strategy"),
        ("mergeKey", "x-kubernetes-patch-merge-key"),
    ):
        if facts.get(fact):
            schema[keyword] = facts[fact]
    return schema


def _default(facts: JsonObject, is_struct: bool) -> object:
    """The default of a field; None if it has none."""
    expression: str = facts["type"]
    if facts.get("zero"):
        return _zero(expression.removeprefix("*"))
    return facts.get("default", None if facts.get("omit") and not is_struct else _zero(expression))


def _value(expression: str, references: list[str]) -> JsonObject:
    """The schema of a Go type expression. Adds the names of types to which it refers to `references`."""
    expression = _resolved(expression.removeprefix("*"))
    if expression in _SCALARS:
        return _SCALARS[expression]
    if expression.startswith("[]"):
        return {"type": "array", "items": _element(expression[2:], references)}
    if expression.startswith("map["):
        element = _element(expression[expression.index("]") + 1 :], references)
        return {"type": "object", "additionalProperties": element}
    references.append(expression)
    return {"allOf": [{"$ref": REFERENCE + expression}]}


def _element(expression: str, references: list[str]) -> JsonObject:
    schema = dict(_value(expression, references))
    default = None if served().document.get("bareElements") else _zero(expression)
    if default is not None:
        schema["default"] = default
    elif "allOf" in schema:
        return dict(schema["allOf"][0])
    return schema


def _resolved(expression: str) -> str:
    """The underlying type of a named type that is not a struct (string for "PodPhase")."""
    while "is" in (entry := served().entry(expression) or {}) and expression not in _OWN:
        expression = entry["is"].removeprefix("*")
    return expression


def _zero(expression: str) -> object:
    """Go's zero value of a type; None for pointers, lists, maps, and types with their own JSON encoding."""
    if expression.startswith(("*", "[]", "map[")):
        return None
    expression = _resolved(expression)
    if expression in _OWN:
        return None
    return _ZERO.get(expression, None if expression in _SCALARS or expression.startswith(("[]", "map[")) else {})
