"""Types of CEL expressions, and how they are written in messages (cel-spec, "Values" and "Gradual type checking")."""

from __future__ import annotations

from enum import IntEnum


class Kind(IntEnum):
    """The kinds of types."""

    DYN = 0
    ERROR = 1
    NULL = 2
    BOOL = 3
    INT = 4
    UINT = 5
    DOUBLE = 6
    STRING = 7
    BYTES = 8
    DURATION = 9
    TIMESTAMP = 10
    LIST = 11
    MAP = 12
    STRUCT = 13
    OPAQUE = 14
    TYPE = 15
    PARAMETER = 16


class CelType:
    """A type: its kind, its name at run time, and its parameters (such as a list's element type)."""

    __slots__ = ("generic", "kind", "name", "parameters")

    def __init__(self, kind: Kind, name: str, *parameters: CelType) -> None:
        self.kind = kind
        self.name = name
        self.parameters = parameters
        # whether it has type parameters that the checker must substitute
        self.generic: bool = kind is Kind.PARAMETER or any(each.generic for each in parameters)

    def __repr__(self) -> str:
        return describe(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CelType) and same(self, other)

    def __hash__(self) -> int:
        return hash((self.kind, self.name, self.parameters))


DYN = CelType(Kind.DYN, "dyn")
ANY = CelType(Kind.DYN, "any")  # like dyn, but with another name in messages
ERROR = CelType(Kind.ERROR, "!error!")
NULL = CelType(Kind.NULL, "null_type")
BOOL = CelType(Kind.BOOL, "bool")
INT = CelType(Kind.INT, "int")
UINT = CelType(Kind.UINT, "uint")
DOUBLE = CelType(Kind.DOUBLE, "double")
STRING = CelType(Kind.STRING, "string")
BYTES = CelType(Kind.BYTES, "bytes")
DURATION = CelType(Kind.DURATION, "google.protobuf.Duration")
TIMESTAMP = CelType(Kind.TIMESTAMP, "google.protobuf.Timestamp")
TYPE = CelType(Kind.TYPE, "type")
LIST = CelType(Kind.LIST, "list", DYN)
MAP = CelType(Kind.MAP, "map", DYN, DYN)
SCALARS = {Kind.BOOL, Kind.INT, Kind.UINT, Kind.DOUBLE, Kind.STRING, Kind.BYTES, Kind.DURATION, Kind.TIMESTAMP}
_WRITTEN = {Kind.NULL: "null", Kind.DURATION: "duration", Kind.TIMESTAMP: "timestamp"}
_OPAQUE = {"net.IP", "net.CIDR", "optional_type"}
_NAMED = {
    "dyn": DYN,
    "null": NULL,
    "bool": BOOL,
    "int": INT,
    "uint": UINT,
    "double": DOUBLE,
    "string": STRING,
    "bytes": BYTES,
    "duration": DURATION,
    "timestamp": TIMESTAMP,
    "type": TYPE,
}


def list_of(element: CelType) -> CelType:
    """The type of lists of `element`."""
    return CelType(Kind.LIST, "list", element)


def map_of(key: CelType, value: CelType) -> CelType:
    """The type of maps from `key` to `value`."""
    return CelType(Kind.MAP, "map", key, value)


def type_of(described: CelType) -> CelType:
    """The type of a type's value: `type(int)` for the name `int`."""
    return CelType(Kind.TYPE, "type", described)


def optional_of(value: CelType) -> CelType:
    """The optional type of a value's type."""
    return CelType(Kind.OPAQUE, "optional_type", value)


def struct(name: str) -> CelType:
    """The type of objects with declared fields."""
    return CelType(Kind.STRUCT, name)


def parameter(name: str) -> CelType:
    """A type parameter."""
    return CelType(Kind.PARAMETER, name)


def is_optional(of: CelType) -> bool:
    """Whether the type is an optional type."""
    return of.kind is Kind.OPAQUE and of.name == "optional_type"


def same(one: CelType, other: CelType) -> bool:
    """Whether two types are identical."""
    if one is other:
        return True
    if one.kind is not other.kind or one.name != other.name or len(one.parameters) != len(other.parameters):
        return False
    return all(map(same, one.parameters, other.parameters))


def describe(of: CelType) -> str:
    """A type in error messages, such as "list(int)"."""
    if of.kind in _WRITTEN:
        return _WRITTEN[of.kind]
    if not of.parameters:
        return of.name
    return f"{of.name}({', '.join(map(describe, of.parameters))})"


def parse(text: str) -> CelType:
    """Parses a type, such as "map(string, A)". A single letter is a type parameter."""
    name, _, rest = text.partition("(")
    if not rest:
        if text in _NAMED:
            return _NAMED[text]
        if len(text) == 1:
            return parameter(text)
        return CelType(Kind.OPAQUE if text in _OPAQUE else Kind.STRUCT, text)
    inside = [parse(each) for each in _split(rest[:-1])]
    kinds = {"list": Kind.LIST, "map": Kind.MAP, "type": Kind.TYPE}
    return CelType(kinds.get(name, Kind.OPAQUE), name, *inside)


def _split(text: str) -> list[str]:
    parts, depth, start = list[str](), 0, 0
    for at, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if character == "," and not depth:
            parts.append(text[start:at])
            start = at + 2
    return [*parts, text[start:]]
