"""The CEL types of a structural schema (page "Validation rules").

A `SchemaDeclaration` has the CEL type of a schema's values, their largest size, and the conversion from JSON to CEL.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gateway.cel.edition import FIRST, Edition
from gateway.cel.moments import parse_long_duration, parse_timestamp
from gateway.cel.names import RESERVED, escape
from gateway.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    CelType,
    list_of,
    map_of,
    struct,
)
from gateway.cel.values import EvaluationError, KeyedList, SetList
from gateway.jsontypes import JsonObject, Whole

LARGEST_REQUEST = 3 * 1024 * 1024
# the lists and maps converted in one evaluation, by the id of the JSON value
Cache = dict[int, Any]
ToCel = Callable[[Any, Cache], Any]


@dataclass(slots=True, eq=False)
class SchemaDeclaration:
    """The declaration of a schema: a scalar's type, an object's fields, or the element of a list or map.

    `most`: the greatest size. `longest_key`: of a map's keys. `smallest`: the least number of bytes as JSON.
    """

    scalar: CelType | None = None
    # by escaped name: the property's own name and its declaration
    fields: dict[str, tuple[str, SchemaDeclaration]] | None = None
    element: SchemaDeclaration | None = None
    is_map: bool = False
    most: int = 0
    longest_key: int = 0
    smallest: int = 2
    convert: ToCel | None = None
    # whether values of this type, or values in them, are converted from JSON
    special: bool = False


def declare(schema: JsonObject, *, root: bool = False, edition: Edition = FIRST) -> SchemaDeclaration | None:
    """The declaration of a schema; None if expressions cannot use its values.

    `root`: the schema is that of a whole object, so apiVersion, kind and some metadata are declared too.
    """
    if schema.get("x-kubernetes-int-or-string"):
        most = schema.get("maxLength")
        return SchemaDeclaration(DYN, most=LARGEST_REQUEST - 2 if most is None else max(most, 0) * 4, smallest=1)
    match schema.get("type"):
        case "object":
            return _object(schema, root, edition)
        case "array":
            return _array(schema, edition)
        case "string":
            return _string(schema)
        case "boolean":
            return SchemaDeclaration(BOOL, smallest=4)
        case "number":
            return SchemaDeclaration(DOUBLE, smallest=1, convert=_double, special=True)
        case "integer":
            return SchemaDeclaration(INT, smallest=1)
    return None


def _object(schema: JsonObject, root: bool, edition: Edition) -> SchemaDeclaration | None:
    additional = schema.get("additionalProperties")
    if isinstance(additional, dict) and not (root and _root_properties(schema, edition)):
        return _map(schema, additional, edition)
    if isinstance(additional, dict):
        return _map(schema, additional, edition)
    properties = _root_properties(schema, edition) if root else schema.get("properties") or {}
    required = set(schema.get("required") or ())
    fields, smallest, special = dict[str, tuple[str, SchemaDeclaration]](), 2, False
    for name, below in properties.items():
        declared = declare(below, root=bool(below.get("x-kubernetes-embedded-resource")), edition=edition)
        if declared is None:
            continue
        if (written := escape(name)) is not None:
            fields[written] = (name, declared)
        if name in required and below.get("default") is None:
            smallest += len(name.encode()) + declared.smallest + 4
        special = special or declared.special
    return SchemaDeclaration(fields=fields, smallest=smallest, special=special)


def _root_properties(schema: JsonObject, edition: Edition) -> JsonObject:
    text: JsonObject = {"type": "string"}
    names = {"name": text, "generateName": text}
    if most := edition.longest_name:
        own = ((schema.get("properties") or {}).get("metadata") or {}).get("properties") or {}
        names = {"name": _capped(own.get("name"), most), "generateName": _capped(own.get("generateName"), most - 1)}
    metadata = {"type": "object", "properties": names}
    return {**(schema.get("properties") or {}), "kind": text, "apiVersion": text, "metadata": metadata}


def _capped(schema: JsonObject | None, most: int) -> JsonObject:
    """A string of at most `most` characters, or of as many as a schema allows if these are fewer."""
    own = (schema or {}).get("maxLength")
    return {"type": "string", "maxLength": most if own is None else min(own, most)}


def _map(schema: JsonObject, values: JsonObject, edition: Edition) -> SchemaDeclaration | None:
    element = declare(values, root=bool(values.get("x-kubernetes-embedded-resource")), edition=edition)
    if element is None:
        return None
    most = schema.get("maxProperties")
    most = (LARGEST_REQUEST - 2) // (element.smallest + 6) if most is None else max(most, 0)
    convert = None if element.convert is None else _map_converter(element.convert)
    return SchemaDeclaration(element=element, is_map=True, most=most, convert=convert, special=element.special)


def _array(schema: JsonObject, edition: Edition) -> SchemaDeclaration | None:
    items = schema.get("items")
    if not isinstance(items, dict):
        return None
    element = declare(items, root=bool(items.get("x-kubernetes-embedded-resource")), edition=edition)
    if element is None:
        return None
    most = schema.get("maxItems")
    most = (LARGEST_REQUEST - 2) // (element.smallest + 1) if most is None else max(most, 0)
    convert = _list_converter(element.convert, schema, edition.strict_sets)
    return SchemaDeclaration(
        element=element, most=most, convert=convert, special=element.special or convert is not None
    )


def _string(schema: JsonObject) -> SchemaDeclaration:
    most = schema.get("maxLength")
    match schema.get("format"):
        case "byte":
            size = LARGEST_REQUEST - 2 if most is None else max(most, 0)
            return SchemaDeclaration(BYTES, most=size, smallest=2, convert=_bytes, special=True)
        case "duration":
            return SchemaDeclaration(DURATION, most=32, smallest=3, convert=_duration, special=True)
        case "date":
            return SchemaDeclaration(TIMESTAMP, most=12, smallest=12, convert=_date, special=True)
        case "date-time":
            return SchemaDeclaration(TIMESTAMP, most=32, smallest=21, convert=_moment, special=True)
    if most is not None:
        return SchemaDeclaration(STRING, most=max(most, 0) * 4, smallest=2)
    if allowed := schema.get("enum"):
        longest = max((len(each.encode()) for each in allowed if isinstance(each, str)), default=0)
        return SchemaDeclaration(STRING, most=longest, smallest=2)
    return SchemaDeclaration(STRING, most=LARGEST_REQUEST - 2, smallest=2)


def _double(value: Any, cache: Cache) -> Any:
    return float(value) if type(value) is int or type(value) is Whole else value


def _bytes(value: Any, cache: Cache) -> Any:
    if type(value) is not str:
        return value
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise EvaluationError(f"Invalid byte formatted string {value}: illegal base64 data") from None


def _duration(value: Any, cache: Cache) -> Any:
    if type(value) is not str:
        return value
    if (length := parse_long_duration(value)) is None:
        raise EvaluationError(f"Invalid duration {value}: unable to parse {value} as duration")
    return length


def _date(value: Any, cache: Cache) -> Any:
    return _moment(f"{value}T00:00:00Z", cache) if type(value) is str else value


def _moment(value: Any, cache: Cache) -> Any:
    if type(value) is not str:
        return value
    moment = parse_timestamp(value) or parse_timestamp(f"{value}Z")
    if moment is None:
        raise EvaluationError(f"Invalid date-time formatted string {value}: cannot parse")
    return moment


def _list_converter(element: ToCel | None, schema: JsonObject, strict: bool) -> ToCel | None:
    kind = schema.get("x-kubernetes-list-type")
    keys = tuple(schema.get("x-kubernetes-list-map-keys") or ())
    if element is None and kind not in ("set", "map"):
        return None

    def make(items: list[Any], cache: Cache) -> list[Any]:
        if element is not None:
            items = [None if each is None else element(each, cache) for each in items]
        if kind == "set":
            return SetList(items, strict)
        return KeyedList(items, keys, strict) if kind == "map" else items

    return _cached(make)


def _map_converter(element: ToCel) -> ToCel:
    def make(pairs: dict[str, Any], cache: Cache) -> dict[str, Any]:
        return {name: None if each is None else element(each, cache) for name, each in pairs.items()}

    return _cached(make)


def _cached(make: ToCel) -> ToCel:
    def convert(value: Any, cache: Cache) -> Any:
        if type(value) is not list and type(value) is not dict:
            return value
        made = cache.get(id(value))
        if made is None:
            made = cache[id(value)] = make(value, cache)
        return made

    return convert


class SchemaTypes:
    """The object types of one schema. They are named by the root's name and the path from it: `selfType.spec`."""

    __slots__ = ("_known", "root", "type")

    def __init__(self, root: SchemaDeclaration, name: str = "selfType") -> None:
        self.root = root
        self._known = dict[str, SchemaDeclaration]()
        self.type = self._named(root, name)

    def _named(self, declared: SchemaDeclaration, name: str) -> CelType:
        if declared.scalar is not None:
            return declared.scalar
        if declared.element is not None:
            inner = self._named(declared.element, f"{name}.@{'elem' if declared.is_map else 'idx'}")
            return map_of(STRING, inner) if declared.is_map else list_of(inner)
        self._known[name] = declared
        return struct(name)

    def known(self, name: str) -> bool:
        """See Structs."""
        return name in self._known

    def declared(self, name: str, field: str) -> tuple[str, SchemaDeclaration] | None:
        """The property's own name and its declaration for an escaped field name; None if there is no such field."""
        fields = self._known[name].fields if name in self._known else None
        if fields is None:
            return None
        if field not in fields and field in RESERVED:
            field = f"__{field}__"
        return fields.get(field)

    def of(self, name: str) -> SchemaDeclaration | None:
        """The declaration of an object type."""
        return self._known.get(name)

    def maker(self, name: str) -> None:
        """See Structs. Expressions cannot create objects of a schema."""

    def field(self, name: str, field: str) -> CelType | None:
        """See Structs."""
        found = self.declared(name, field)
        return None if found is None else self._named(found[1], f"{name}.{field}")
