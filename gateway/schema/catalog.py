"""The built-in types, read from the generated catalog (catalog.json; hack/catalog.py makes it and says its layout).

The file is parsed once, on first use; `Type`s are built when they are first asked for and shared from then on.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from threading import Lock

from gateway.jsontypes import JsonObject, loads
from gateway.schema.types import Field, Omit, Type, TypeKind

META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_EXTENSIONS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."

_PLAIN = {
    "string": TypeKind.STRING,
    "int32": TypeKind.INT32,
    "int64": TypeKind.INT64,
    "float64": TypeKind.FLOAT,
    "bool": TypeKind.BOOL,
    "[]uint8": TypeKind.BYTES,
    "interface {}": TypeKind.ANY,
}
_OWN_JSON = {
    META + "Time": TypeKind.TIME,
    META + "MicroTime": TypeKind.MICROTIME,
    META + "Duration": TypeKind.DURATION,
    META + "FieldsV1": TypeKind.ANY,
    "io.k8s.apimachinery.pkg.api.resource.Quantity": TypeKind.QUANTITY,
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": TypeKind.INT_OR_STRING,
    "io.k8s.apimachinery.pkg.runtime.RawExtension": TypeKind.ANY,
    _EXTENSIONS + "JSON": TypeKind.ANY,
    _EXTENSIONS + "JSONSchemaPropsOrArray": TypeKind.ANY,
    _EXTENSIONS + "JSONSchemaPropsOrBool": TypeKind.ANY,
    _EXTENSIONS + "JSONSchemaPropsOrStringArray": TypeKind.ANY,
}
_JUDGED_EMPTY = frozenset({_EXTENSIONS + "JSONSchemaDependencies"})  # not written, but refused when they are there
_OMITTED_WHEN_EMPTY = frozenset(
    {
        TypeKind.STRING,
        TypeKind.INT32,
        TypeKind.INT64,
        TypeKind.FLOAT,
        TypeKind.BOOL,
        TypeKind.BYTES,
        TypeKind.LIST,
        TypeKind.MAP,
    }
)


@cache
def document() -> JsonObject:
    """The whole catalog as JSON."""
    content: JsonObject = loads(Path(__file__).with_name("catalog.json").read_bytes())
    return content


@cache
def type_of(type_name: str) -> Type:
    """The type of an OpenAPI definition name ("io.k8s.api.core.v1.Pod"). KeyError when there is none."""
    with _building:  # another thread must not find a type that has only some of its fields yet
        return _named(type_name)


def type_name_for(group: str, version: str, kind: str) -> str:
    """The definition name of a kind; kinds of meta/v1 (DeleteOptions, Status) belong to every group. KeyError."""
    content = document()
    name = content["kinds"].get(f"{group}/{version}/{kind}")
    if name is None and META + kind in content["types"]:
        name = META + kind
    if name is None:
        raise KeyError(f"no kind {kind} in {group}/{version}" if group else f"no kind {kind} in {version}")
    return str(name)


def type_for(group: str, version: str, kind: str) -> Type:
    """The type of a kind. Raises KeyError. Nothing is cached by these names, since clients can make up any number."""
    return type_of(type_name_for(group, version, kind))


_building = Lock()
_types: dict[str, Type] = {}  # named types
_expressions: dict[tuple[str, str, tuple[str, ...], str], Type] = {}  # composite ones and variants of named ones


def _named(name: str) -> Type:
    known = _types.get(name)
    if known is not None:
        return known
    entry = document()["types"][name]
    if name in _OWN_JSON:
        built = _types[name] = Type(_OWN_JSON[name], entry["go"])
        if name.startswith(_EXTENSIONS + "JSONSchemaPropsOr"):
            built.elem = _named(_EXTENSIONS + "JSONSchemaProps")
        return built
    if "is" in entry:
        built = _types[name] = replace(_expression(entry["is"], {}), name=entry["go"])
        return built
    built = _types[name] = Type(TypeKind.STRUCT, entry["go"], atomic=entry.get("atomic", False))
    for facts in entry.get("fields", ()):
        built.fields[facts["name"]] = _field(facts)  # one by one: the type may lead back to itself
    return built


def _expression(expression: str, facts: JsonObject) -> Type:
    """The type written as a Go type expression, with a field's list and map facts; pointers are looked through."""
    expression = expression.removeprefix("*")
    key = (expression, facts.get("list", ""), tuple(facts.get("keys", ())), facts.get("map", ""))
    known = _expressions.get(key)
    if known is None:
        known = _expressions[key] = _build(expression, facts)
    return known


def _build(expression: str, facts: JsonObject) -> Type:
    if expression in _PLAIN:
        return Type(_PLAIN[expression], expression)
    if expression.startswith("[]"):
        built = Type(TypeKind.LIST, "")
        elem = expression[2:]
    elif expression.startswith("map["):
        built = Type(TypeKind.MAP, "")
        elem = expression[expression.index("]") + 1 :]
    else:
        built = _named(expression)
        if "list" not in facts and facts.get("map") in (None, _relation(built)):
            return built
        built = replace(built)  # shares the fields
        elem = ""
    if elem:
        built.elem = _expression(elem, {})
        built.elem_pointer = elem.startswith("*")
        built.name = _go_name(expression)
    built.list_type = facts.get("list", "atomic")
    built.list_map_keys = tuple(facts.get("keys", ()))
    built.atomic = facts.get("map") == "atomic"
    return built


def _relation(built: Type) -> str:
    return "atomic" if built.atomic else "granular"


def _go_name(expression: str) -> str:
    if expression.startswith("*"):
        return "*" + _go_name(expression[1:])
    if expression.startswith("[]"):
        return "[]" + _go_name(expression[2:])
    if expression.startswith("map["):
        key, _, elem = expression[4:].partition("]")
        return f"map[{_go_name(key)}]{_go_name(elem)}"
    entry = document()["types"].get(expression)
    return entry["go"] if entry else expression


def _field(facts: JsonObject) -> Field:
    type_ = _expression(facts["type"], facts)
    pointer = facts["type"].startswith("*")
    steps = [step.partition(":") for step in facts.get("embedded", "").split(".") if step]
    return Field(
        name=facts["name"],
        go_name=facts["go"],
        type=type_,
        omit=_omit(facts.get("omit", ""), pointer or facts["type"] in _JUDGED_EMPTY, type_.kind),
        pointer=pointer,
        required=facts.get("required", False),
        default=facts.get("default"),
        enum=tuple(facts.get("enum", ())),
        patch_strategies=tuple(facts["patch"].split(",")) if "patch" in facts else (),
        patch_merge_key=facts.get("mergeKey", ""),
        number=facts.get("number", 0),
        embedded=tuple(name for name, _, _ in steps),
        embedded_numbers=tuple(int(number or 0) for _, _, number in steps),
    )


def _omit(written: str, pointer: bool, kind: TypeKind) -> Omit:
    """omitempty leaves out nil pointers and empty values but never structs; omitzero asks the type (times)."""
    if not written:
        return Omit.NEVER
    if pointer:
        return Omit.NIL
    return Omit.EMPTY if written == "zero" or kind in _OMITTED_WHEN_EMPTY else Omit.NEVER
