"""The functions that Kubernetes' CEL environment declares (declarations.json, made by hack/cel)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from gateway.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    TYPE,
    UINT,
    CelType,
    Kind,
    list_of,
    map_of,
    parameter,
    parse,
    type_of,
)


@dataclass(slots=True, frozen=True)
class Overload:
    """One signature of a function."""

    id: str
    member: bool
    arguments: tuple[CelType, ...]
    result: CelType
    parameters: tuple[str, ...]

    @property
    def generic(self) -> bool:
        """Whether the signature has type parameters."""
        return bool(self.parameters)


@dataclass(slots=True)
class Function:
    """A function: its overloads in cel-go's order, and the overloads of scalar arguments by the arguments' types."""

    name: str
    overloads: list[Overload]
    exact: dict[tuple[object, ...], Overload]

    def without(self, withdrawn: frozenset[str]) -> Function:
        """The function without some overloads; itself if it has none of them."""
        if not any(each.id in withdrawn for each in self.overloads):
            return self
        kept = [each for each in self.overloads if each.id not in withdrawn]
        exact = {types: each for types, each in self.exact.items() if each.id not in withdrawn}
        return Function(self.name, kept, exact)


LIST_FUNCTIONS = frozenset({"@sortByAssociatedKeys", "distinct", "flatten", "lists.range", "reverse", "slice", "sort"})
"""The functions of cel-go's list library. Kubernetes added it later than the other libraries."""

# functions that the file does not have yet; earlier editions lack them (gateway.cel.editions)
_LATER: dict[str, list[tuple[str, bool, list[str], str]]] = {
    "includes": [("list_includes_dyn_dyn", True, ["dyn", "dyn"], "bool")],
}

TYPES: dict[str, CelType] = {
    "bool": BOOL,
    "bytes": BYTES,
    "double": DOUBLE,
    "google.protobuf.Duration": DURATION,
    "google.protobuf.Timestamp": TIMESTAMP,
    "int": INT,
    "list": list_of(parameter("A")),
    "map": map_of(parameter("A"), parameter("B")),
    "null_type": NULL,
    "string": STRING,
    "type": TYPE,
    "uint": UINT,
    "net.IP": CelType(Kind.OPAQUE, "net.IP"),
    "net.CIDR": CelType(Kind.OPAQUE, "net.CIDR"),
    "optional_type": CelType(Kind.OPAQUE, "optional_type", parameter("V")),
}


@cache
def type_names() -> dict[str, CelType]:
    """The CEL type of each type name, such as `int`, in an expression."""
    return {name: type_of(known) if known is not TYPE else type_of(TYPE) for name, known in TYPES.items()}


@cache
def functions() -> dict[str, Function]:
    """All functions by name."""
    listed = json.loads(Path(__file__).with_name("declarations.json").read_text())["functions"]
    return {name: _function(name, overloads) for name, overloads in {**listed, **_LATER}.items()}


@cache
def optional_functions() -> dict[str, Function]:
    """The functions of the optional libraries, by name."""
    escape = ("jsonpatch_escape_key_string", False, ["string"], "string")
    return {"jsonpatch.escapeKey": _function("jsonpatch.escapeKey", [escape])}


def _function(name: str, listed: list[tuple[str, bool, list[str], str]]) -> Function:
    overloads = [_overload(*each) for each in listed]
    exact = {
        (each.member, *((argument.kind, argument.name) for argument in each.arguments)): each
        for each in reversed(overloads)
        if not each.parameters and all(not argument.parameters for argument in each.arguments)
    }
    return Function(name, overloads, exact)


def _overload(identifier: str, member: bool, arguments: list[str], result: str) -> Overload:
    types = tuple(parse(each) for each in arguments)
    given = parse(result)
    return Overload(identifier, member, types, given, tuple(sorted(_parameters(*types, given))))


def _parameters(*types: CelType) -> set[str]:
    found = set[str]()
    for each in types:
        if each.kind is Kind.PARAMETER:
            found.add(each.name)
        found |= _parameters(*each.parameters)
    return found
