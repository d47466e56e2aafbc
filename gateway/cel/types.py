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


class Type:
    """A type: its kind, its name at run time, and its parameters (such as a list's element type)."""

    __slots__ = ("generic", "kind", "name", "parameters")

    def __init__(self, kind: Kind, name: str, *parameters: Type) -> None:
        self.kind = kind
        self.name = name
        self.parameters = parameters
        # whether it has type parameters that the checker must substitute
        self.generic: bool = kind is Kind.PARAMETER or any(each.generic for each in parameters)

    def __repr__(self) -> str:
        return describe(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Type) and same(self, other)

    def __hash__(self) -> int:
        return hash((self.kind, self.name, self.parameters))


DYN = Type(Kind.DYN, "dyn")
ANY = Type(Kind.DYN, "any")  # like dyn, but with another name in messages
ERROR = Type(Kind.ERROR, "!error!")
NULL = Type(Kind.NULL, "null_type")
BOOL = Type(Kind.BOOL, "bool")
INT = Type(Kind.INT, "int")
UINT = Type(Kind.UINT, "uint")
DOUBLE = Type(Kind.DOUBLE, "double")
STRING = Type(Kind.STRING, "string")
BYTES = Type(Kind.BYTES, "bytes")
DURATION = Type(Kind.DURATION, "google.protobuf.Duration")
TIMESTAMP = Type(Kind.TIMESTAMP, "google.protobuf.Timestamp")
TYPE = Type(Kind.TYPE, "type")
LIST = Type(Kind.LIST, "list", DYN)
MAP = Type(Kind.MAP, "map", DYN, DYN)
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


def list_of(element: Type) -> Type:
    """The type of lists of `element`."""
    return Type(Kind.LIST, "list", element)


def map_of(key: Type, value: Type) -> Type:
    """The type of maps from `key` to `value`."""
    return Type(Kind.MAP, "map", key, value)


def type_of(described: Type) -> Type:
    """The type of a type's value: `type(int)` for the name `int`."""
    return Type(Kind.TYPE, "type", described)


def optional_of(value: Type) -> Type:
    """The optional type of a value's type."""
    return Type(Kind.OPAQUE, "optional_type", value)


def struct(name: str) -> Type:
    """The type of objects with declared fields."""
    return Type(Kind.STRUCT, name)


def parameter(name: str) -> Type:
    """A type parameter."""
    return Type(Kind.PARAMETER, name)


def is_optional(of: Type) -> bool:
    """Whether the type is an optional type."""
    return of.kind is Kind.OPAQUE and of.name == "optional_type"


def same(one: Type, other: Type) -> bool:
    """Whether two types are identical."""
    if one is other:
        return True
    if one.kind is not other.kind or one.name != other.name or len(one.parameters) != len(other.parameters):
        return False
    return all(map(same, one.parameters, other.parameters))


def describe(of: Type) -> str:
    """A type in error messages, such as "list(int)"."""
    if of.kind in _WRITTEN:
        return _WRITTEN[of.kind]
    if not of.parameters:
        return of.name
    return f"{of.name}({', '.join(map(describe, of.parameters))})"


def parse(text: str) -> Type:
    """Parses a type, such as "map(string, A)". A single letter is a type parameter."""
    name, _, rest = text.partition("(")
    if not rest:
        if text in _NAMED:
            return _NAMED[text]
        if len(text) == 1:
            return parameter(text)
        return Type(Kind.OPAQUE if text in _OPAQUE else Kind.STRUCT, text)
    inside = [parse(each) for each in _split(rest[:-1])]
    kinds = {"list": Kind.LIST, "map": Kind.MAP, "type": Kind.TYPE}
    return Type(kinds.get(name, Kind.OPAQUE), name, *inside)


def _split(text: str) -> list[str]:
    parts, depth, start = list[str](), 0, 0
    for at, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if character == "," and not depth:
            parts.append(text[start:at])
            start = at + 2
    return [*parts, text[start:]]
