"""What is wrong with a value of a type, in the order and the words of sigs.k8s.io/json.

Two sorts of errors end a decoding: those of Go types that read their own JSON (times, quantities, int-or-string) at
once, all others after the whole document was read, the first of them counting. Only where there is neither, unknown
and duplicate fields are reported.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from gateway.schema.body import MAX_PROBLEMS, MAX_TOLD, Path, path_text, plain, quoted
from gateway.schema.errors import DecodeError, EmbeddedError
from gateway.schema.exact import Number, PairsObject
from gateway.schema.quantity import QuantityError, parse_quantity
from gateway.schema.times import TimeError, canonical_microtime, canonical_time
from gateway.schema.types import Kind, Type
from gateway.time_limits import look

_BITS = {Kind.INT32: 31, Kind.INT64: 63}
_BASE64 = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
_STRING = Type(Kind.STRING, "string")
_INT32 = Type(Kind.INT32, "int32")
_FREE = Type(Kind.ANY, "interface {}", structural=True)
_FREE_OBJECT = Type(Kind.STRUCT, "map[string]interface {}", elem=_FREE, structural=True)
_FREE_LIST = Type(Kind.LIST, "[]interface {}", elem=_FREE, structural=True)
_BARE_OBJECT = Type(Kind.STRUCT, "map[string]interface {}", structural=True)
_BARE_LIST = Type(Kind.LIST, "[]interface {}", elem=_BARE_OBJECT, structural=True)
_UINT8 = Type(Kind.INT32, "uint8")


def examine(type_: Type, value: Any, problems: list[str]) -> None:
    """Adds unknown and duplicate fields of a value to `problems`. Raises DecodeError for one that doesn't fit."""
    examiner = _Examiner()
    try:
        if value is not None:
            examiner.value(type_, value)
    except _Refusal as refusal:
        raise DecodeError(examiner.worded(refusal)) from None
    if examiner.saved:
        raise DecodeError(examiner.saved)
    if type_.structural:
        examiner.problems.sort(key=_unknown_last)
    problems += examiner.problems


def _unknown_last(problem: str) -> tuple[bool, str]:
    """Of custom objects duplicates are told in the order of the document, and then unknown fields by their paths."""
    unknown = problem.startswith("unknown")
    return unknown, problem if unknown else ""


class _Refusal(Exception):
    """A value that a type refuses: with a text of its own, or because a JSON value is no such Go type."""

    def __init__(self, text: str, go_type: str = "") -> None:
        super().__init__(text)
        self.text, self.go_type = text, go_type


class _Examiner:
    def __init__(self) -> None:
        self.saved = ""
        self.problems: list[str] = []
        self.struct = ""
        self.fields: tuple[str, ...] = ()
        self.path: Path = None
        self.told = 0

    def worded(self, refusal: _Refusal) -> str:
        if not refusal.go_type:
            return refusal.text
        place = f"struct field {self.struct}.{'.'.join(self.fields)} of" if self.fields else "value of"
        return f"json: cannot unmarshal {refusal.text} into Go {place} type {refusal.go_type}"

    def value(self, type_: Type, value: Any) -> None:
        """Looks at a value that is not null."""
        kind = type_.kind
        if kind is Kind.STRUCT and isinstance(value, dict):
            look()
            self.members(type_, value)
        elif kind is Kind.MAP and isinstance(value, dict):
            self.entries(type_, value)
        elif kind is Kind.LIST and isinstance(value, list):
            self.items(type_, value)
        elif type_.structural:
            self.free(value, known=kind is Kind.ANY or type_.preserves)
        elif kind is Kind.ANY:
            if type_.elem is not None:
                _schema_or(type_, value)
        elif kind in _OWN_JSON:
            _OWN_JSON[kind](value)
        else:
            refusal = _plain_refusal(type_, value)
            if refusal and not self.saved:
                self.saved = self.worded(refusal)

    def members(self, type_: Type, value: dict[str, Any]) -> None:
        before = self.struct, self.fields, self.path
        name = type_.name.rpartition(".")[2]
        seen: set[str] = set()
        for key, item in _pairs(value):
            field = type_.fields.get(key)
            path = (before[2], key)
            if field is None and type_.elem is None:
                if not type_.preserves:
                    self.report("unknown field", path)
                    continue
                member = _FREE
            else:
                member = _elem(type_) if field is None else field.type
            if key in seen:
                self.report("duplicate field", path)
            seen.add(key)
            if type_.embedded and before[2] is not None:
                _embedded(member, key, item, path_text(path))
            if item is not None:
                embedded = () if field is None else field.embedded
                # what is in a custom object's metadata is read by itself
                within = () if type_.structural else (*before[1], *embedded, key)
                self.struct, self.fields, self.path = name, within, path
                self.value(member, item)
                self.struct, self.fields, self.path = before

    def entries(self, type_: Type, value: dict[str, Any]) -> None:
        before = self.path
        seen: set[str] = set()
        for key, item in _pairs(value):
            path = (before, key)
            if key in seen:
                self.report("duplicate field", path)
            seen.add(key)
            if item is not None:
                self.path = path
                self.value(_elem(type_), item)
                self.path = before

    def free(self, value: Any, known: bool = True) -> None:
        """JSON that a structural schema says nothing of, or (not `known`) of which validation will complain."""
        if isinstance(value, dict):
            self.members(_FREE_OBJECT if known else _BARE_OBJECT, value)
        elif isinstance(value, list):
            self.items(_FREE_LIST if known else _BARE_LIST, value)

    def items(self, type_: Type, value: list[Any]) -> None:
        before = self.path
        for index, item in enumerate(value):
            if item is not None:
                self.path = (before, index)
                self.value(_elem(type_), item)
                self.path = before

    def report(self, what: str, path: Path) -> None:
        if len(self.problems) >= MAX_PROBLEMS or self.told >= MAX_TOLD:
            return
        self.told += 1
        text = f"{what} {quoted(path_text(path))}"
        if text not in self.problems:
            self.problems.append(text)


def _embedded(type_: Type, key: str, value: Any, path: str) -> None:
    """Kind, version and metadata of an object within a custom one. Raises EmbeddedError."""
    if key in ("apiVersion", "kind") and not isinstance(value, str):
        raise EmbeddedError(path, f"Invalid value: {_json(value)}: must be a string")
    if key == "metadata":
        try:
            examine(type_, value, [])
        except DecodeError as error:
            raise EmbeddedError(path, f"Invalid value: {_json(value)}: {error}") from None


def _json(value: Any) -> str:
    return json.dumps(plain(value), separators=(",", ":"), ensure_ascii=False, sort_keys=True)


def _pairs(value: dict[str, Any]) -> Iterable[tuple[str, Any]]:
    return value.pairs if isinstance(value, PairsObject) else value.items()


def _elem(type_: Type) -> Type:
    assert type_.elem is not None, type_
    return type_.elem


def refusal_of_own(type_: Type, value: Any) -> str | None:
    """What a scalar type that reads its JSON itself says to a value, or bytes to one that is no base64; None: fine."""
    if type_.kind is Kind.BYTES:
        found = _plain_refusal(type_, value)
        return f"error decoding from json: {found.text}" if found and not found.go_type else None
    try:
        if type_.kind in _OWN_JSON:
            _OWN_JSON[type_.kind](value)
    except _Refusal as refusal:
        return (
            f"json: cannot unmarshal {refusal.text} into Go value of type {refusal.go_type}"
            if refusal.go_type
            else refusal.text
        )
    return None


def _plain_refusal(type_: Type, value: Any) -> _Refusal | None:
    """Why Go's generic code doesn't take a value for a type, or None when it does."""
    match type_.kind, value:
        case (Kind.BOOL, bool()) | (Kind.STRING | Kind.DURATION, str()):
            return None
        case Kind.FLOAT, int() | float() | Number() if not isinstance(value, bool):
            overflows = abs(float(value)) == float("inf")
            return _Refusal(f"number {number_text(value)}", type_.name) if overflows else None
        case (Kind.INT32 | Kind.INT64, int() | float() | Number()) if not isinstance(value, bool):
            return _int_refusal(type_, value)
        case Kind.BYTES, str():
            offset = _bad_base64(value)
            return None if offset is None else _Refusal(f"illegal base64 data at input byte {offset}")
        case Kind.BYTES, list():
            refusals = (_byte_refusal(item) for item in value if item is not None)
            return next((refusal for refusal in refusals if refusal), None)
    return _Refusal(json_kind(value), type_.name)


def _int_refusal(type_: Type, value: Any) -> _Refusal | None:
    limit = 1 << _BITS[type_.kind]
    fits = type(value) is int and -limit <= value < limit
    return None if fits else _Refusal(f"number {number_text(value)}", type_.name)


def _byte_refusal(value: Any) -> _Refusal | None:
    if json_kind(value) != "number":
        return _Refusal(json_kind(value), _UINT8.name)
    fits = type(value) is int and 0 <= value < 256
    return None if fits else _Refusal(f"number {number_text(value)}", _UINT8.name)


def json_kind(value: Any) -> str:
    """What Go calls a JSON value in errors."""
    match value:
        case bool():
            return "bool"
        case str():
            return "string"
        case list():
            return "array"
        case dict():
            return "object"
    return "number"


def number_text(value: Any) -> str:
    """A number as it was written; where that is not known, as Go writes it."""
    if type(value) is not float or value in (float("inf"), float("-inf")):
        return str(value)
    text = repr(value)
    if "e" not in text and abs(value) < 1e21:
        return text.removesuffix(".0")
    mantissa, _, exponent = f"{value:e}".partition("e") if "e" not in text else text.partition("e")
    number = int(exponent)
    if -7 < number < 21:
        return f"{value:f}".rstrip("0").rstrip(".") if number < 0 else f"{value:.0f}"
    return f"{mantissa.removesuffix('.0')}e{'-' if number < 0 else '+'}{abs(number):02d}".replace("e-0", "e-")


def spelt(value: Any) -> Any:
    """A plain JSON value with its fractional numbers as texts, as Go writes them."""
    if isinstance(value, dict):
        return {key: spelt(item) for key, item in value.items()}
    if isinstance(value, list):
        return [spelt(item) for item in value]
    return Number(number_text(value)) if type(value) is float else value


def _bad_base64(text: str) -> int | None:
    """The offset that Go's decoder complains of."""
    data = text.encode("utf-8", "surrogatepass").decode("latin-1")
    position = [index for index, character in enumerate(data) if character not in "\r\n"]
    kept = "".join(data[index] for index in position)
    padding = next((index for index, character in enumerate(kept) if character not in _BASE64), len(kept))
    in_quantum = padding % 4
    if padding == len(kept):  # cut short
        return None if in_quantum == 0 else len(data) - in_quantum
    if kept[padding] != "=" or in_quantum < 2:
        return position[padding]
    end = padding + 1
    if in_quantum == 2:
        if end == len(kept):
            return len(data)
        if kept[end] != "=":
            return position[end] - 1
        end += 1
    return None if end == len(kept) else position[end]


def _time(value: Any) -> None:
    if type(value) is not str:
        raise _Refusal(json_kind(value), _STRING.name)
    try:
        canonical_time(value)
    except TimeError as error:
        raise _Refusal(str(error)) from None


def _microtime(value: Any) -> None:
    if type(value) is not str:
        raise _Refusal(json_kind(value), _STRING.name)
    try:
        canonical_microtime(value)
    except TimeError as error:
        raise _Refusal(str(error)) from None


def _quantity(value: Any) -> None:
    text = value.strip() if type(value) is str else str(value).lower() if isinstance(value, bool) else ""
    if not text and json_kind(value) == "number":
        text = number_text(value)
    try:
        parse_quantity(text)
    except QuantityError as error:
        raise _Refusal(str(error)) from None


def _int_or_string(value: Any) -> None:
    if type(value) is not str:
        refusal = _plain_refusal(_INT32, value)
        if refusal:
            raise refusal


_OWN_JSON = {
    Kind.TIME: _time,
    Kind.MICROTIME: _microtime,
    Kind.QUANTITY: _quantity,
    Kind.INT_OR_STRING: _int_or_string,
}


def _schema_or(type_: Type, value: Any) -> None:
    """JSONSchemaPropsOr*: decoded apart, so what is said of the inside has the path of the outside."""
    inner: Type
    if isinstance(value, dict):
        inner = _elem(type_)
    elif type_.name.endswith("OrBool"):
        if isinstance(value, bool):
            return
        raise _Refusal("boolean or JSON schema expected")
    elif not isinstance(value, list):
        return
    else:
        elem = _STRING if type_.name.endswith("OrStringArray") else _elem(type_)
        inner = Type(Kind.LIST, f"[]{elem.name}", elem=elem)
    apart = _FirstRefusal()
    apart.value(inner, value)
    if apart.first:
        raise apart.first


class _FirstRefusal(_Examiner):
    """Keeps the first saved error as it is, to be worded by the outer examiner."""

    first: _Refusal | None = None

    def worded(self, refusal: _Refusal) -> str:
        self.first = self.first or refusal
        return refusal.text


def merged(type_: Type, value: Any) -> Any:
    """The value without repeated members, as Go's decoder ends up: a later struct, map or list is read over the
    earlier one. Free-form parts are made plain."""
    look()
    kind = type_.kind
    if type_.structural:
        return plain(value)
    if kind is Kind.STRUCT and isinstance(value, dict):
        last: dict[str, Any] = {}
        for key, item in _pairs(value):
            field = type_.fields.get(key)
            last[key] = _over(field.type, field.pointer, last[key], item) if field and key in last else item
        return {k: merged(type_.fields[k].type, item) if k in type_.fields else None for k, item in last.items()}
    if kind is Kind.MAP and isinstance(value, dict):
        return {key: merged(_elem(type_), item) for key, item in _pairs(value)}
    if kind is Kind.LIST and isinstance(value, list):
        return [merged(_elem(type_), item) for item in value]
    return plain(value) if kind is Kind.ANY else value


class _Joined(PairsObject):
    """The members of all objects that came under one name: made here, so that each next one is added in place."""

    __slots__ = ()


_KEPT_BY_NULL = frozenset({Kind.STRUCT, Kind.STRING, Kind.INT32, Kind.INT64, Kind.FLOAT, Kind.BOOL, Kind.ANY})


def _over(type_: Type, pointer: bool, old: Any, new: Any) -> Any:
    if new is None:
        return old if not pointer and type_.kind in _KEPT_BY_NULL else None
    if type_.kind in (Kind.STRUCT, Kind.MAP) and isinstance(old, dict) and isinstance(new, dict):
        both = old if type(old) is _Joined else _Joined()
        for key, item in (*(() if both is old else _pairs(old)), *_pairs(new)):
            both.append(key, item)
        return both
    if type_.kind is Kind.LIST and isinstance(old, list) and isinstance(new, list):
        elem = _elem(type_)
        shared = [_over(elem, type_.elem_pointer, *pair) for pair in zip(old, new, strict=False)]
        return shared + new[len(shared) :]
    return new
