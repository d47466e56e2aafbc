"""The one schema model: what a built-in or custom type looks like.

A `Type` is a node of the schema graph; struct types are shared and may refer to themselves. Built-in types come from
the generated catalog (`gateway.schema.catalog`), custom ones from a CRD's structural schema. There an object is a
structural STRUCT, with or without properties, and a value that may be any JSON is a structural ANY. All functions that
work by schema (decoding, pruning, field sets, strategic merge, defaulting) read only this model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from functools import wraps
from threading import local
from typing import Any, TypeVar

from gateway.time_limits import look


class TypeKind(Enum):
    """What JSON a type takes and how it is checked."""

    STRUCT = "struct"  # object with known fields
    MAP = "map"  # object with free keys, all values of `elem`
    LIST = "list"
    STRING = "string"
    INT32 = "int32"
    INT64 = "int64"
    FLOAT = "float64"
    BOOL = "bool"
    BYTES = "bytes"  # base64 in a string
    QUANTITY = "quantity"
    TIME = "time"  # RFC 3339, seconds
    MICROTIME = "microtime"
    DURATION = "duration"
    INT_OR_STRING = "int-or-string"
    ANY = "any"  # free JSON (RawExtension, JSON, FieldsV1), kept as it is; `elem` is set for JSONSchemaPropsOr* only


class Omit(Enum):
    """When Go leaves a field out of its JSON."""

    NEVER = "never"  # no omitempty: the zero value is written
    EMPTY = "empty"  # omitempty (times: omitzero) on a value: 0, false, "", empty lists and maps are left out
    NIL = "nil"  # omitempty on a pointer: only an absent value is left out (0, false and "" stay)


FORMATTED = "formatted string"  # name of a structural STRING with a format: an apply may give it any scalar
FREE_OBJECT = "free object"  # name of a structural ANY whose values are objects with any members


@dataclass(slots=True, weakref_slot=True, eq=False, repr=False)
class Type:
    """A node of the schema. Which attributes mean something depends on `kind`."""

    kind: TypeKind
    name: str  # the Go type as error messages have it: "v1.PodSpec", "[]string", "map[string]string", "int32"
    fields: dict[str, Field] = field(default_factory=dict)  # STRUCT, by JSON name, inlined ones flattened, Go order
    elem: Type | None = None  # MAP, LIST: of its elements; structural STRUCT: of additionalProperties
    list_type: str = "atomic"  # LIST: "atomic", "set" or "map"
    list_map_keys: tuple[str, ...] = ()  # LIST of list_type "map"
    atomic: bool = False  # STRUCT or MAP that is owned as a whole (x-kubernetes-map-type: atomic)
    elem_pointer: bool = False  # LIST/MAP whose Go element is a pointer
    # of a CRD's structural schema: values stay as the client sent them, but for pruning; only validation checks them
    structural: bool = False
    nullable: bool = False  # a null is kept
    preserves: bool = False  # unknown members are kept (x-kubernetes-preserve-unknown-fields)
    embedded: bool = False  # x-kubernetes-embedded-resource: kind, apiVersion and metadata are among the fields
    own: dict[str, Type] | None = None  # embedded: its schema's types of these three, for their defaults alone
    lenient: bool = False  # an apply may name unknown members, even if they are pruned
    default: Any = None  # the default of a missing or null value; None if there is no default
    compiled: dict[object, Any] = field(default_factory=dict, init=False)  # results of `compiled` functions

    def __repr__(self) -> str:
        return f"<Type {self.kind.value} {self.name}>"

    def element(self) -> Type:
        """The type of the elements of a list or a map."""
        assert self.elem is not None, self
        return self.elem


@dataclass(slots=True, eq=False)
class Field:
    """A field of a struct type."""

    name: str  # JSON name
    go_name: str
    type: Type
    omit: Omit
    pointer: bool = False  # Go pointer: an explicit zero value is kept
    required: bool = False
    default: Any = None  # OpenAPI default, None when there is none
    enum: tuple[str, ...] = ()
    patch_strategies: tuple[str, ...] = ()  # "merge", "replace", "retainKeys"
    patch_merge_key: str = ""
    number: int = 0  # protobuf field number, 0 if unknown
    embedded: tuple[str, ...] = ()  # Go names of the embedded structs it is inlined from, outermost first
    embedded_numbers: tuple[int, ...] = ()  # their protobuf field numbers, 0 for those that protobuf doesn't nest


def is_instant(field: Field) -> bool:
    """Whether a field is an optional time, whose zero time is written as null."""
    return field.pointer and field.omit is Omit.NIL and field.type.kind in (TypeKind.TIME, TypeKind.MICROTIME)


_R = TypeVar("_R")


class _Making(local):
    """The types for which this thread is making a result of one `compiled` function."""

    def __init__(self) -> None:
        self.types: set[Type] = set()


def compiled(make: Callable[[Type], _R], *, meanwhile: Callable[[Type], _R] | None = None) -> Callable[[Type], _R]:
    """Decorates a function of a type, so that it runs once for each type. The type keeps the result.

    `meanwhile` makes a stand-in for a result that is being made, for types that refer to themselves. Only the thread
    that makes the result sees the stand-in; another thread makes a result of its own.

    The decorated function raises TakesLong on an event loop for a type with very many parts.
    """
    making = _Making()

    @wraps(make)
    def of(type_: Type) -> _R:
        known = type_.compiled
        if make in known:
            found: _R = known[make]
            return found
        look()
        if meanwhile is None:
            found = known[make] = make(type_)
            return found
        if type_ in making.types:
            return meanwhile(type_)
        making.types.add(type_)
        try:
            found = known[make] = make(type_)
        finally:
            making.types.discard(type_)
        return found

    return of
