"""Shard selectors: the part of a collection whose uids, or namespaces, have hashes in some ranges.

API Concepts, "The shardSelector field" (KEP-5866). A selector is a CEL expression of calls of `shardRange`, joined by
`||`. It is parsed and never evaluated.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple, NoReturn

from gateway.cel.ast import Call, Ident, ListLiteral, Literal, MapLiteral, Node, Select, StructLiteral
from gateway.cel.parser import parse as parse_expression
from gateway.cel.source import CompilationError
from gateway.cel.values import Uint
from gateway.selectors.fields import UID_FIELD
from gateway.text.unicode import GO_SPACE
from gateway.validation.field import go_quote
from storage.entry import Texts

_FIELDS = {"object.metadata.uid": UID_FIELD, "object.metadata.namespace": "metadata.namespace"}
LONGEST_OTHER = 8192  # characters of a selector that is not written as `_RANGES`; to parse 90 000 takes 0.2 s
_DIGITS = 16
_END = "0x1" + "0" * _DIGITS  # the only value of 17 digits: the upper bound of the last range
_HEX = frozenset("0123456789abcdef")
_OFFSET, _PRIME, _MASK = 0xCBF29CE484222325, 0x100000001B3, (1 << 64) - 1  # of FNV-1a with 64 bits

_RANGE = r"\s*shardRange\(\s*object\.metadata\.(?:uid|namespace)(?:\s*,\s*'0x[0-9a-f]{16,17}'){2}\s*\)\s*"
_RANGES = re.compile(rf"{_RANGE}(?:\|\|{_RANGE})*")
# how messages name the sorts of nodes: the numbers of cel-go
_KINDS: dict[type[Node], int] = {
    Call: 1,
    Ident: 3,
    ListLiteral: 4,
    Literal: 5,
    MapLiteral: 6,
    Select: 7,
    StructLiteral: 8,
}
# how messages name the types of literals: those of Go
_GO_TYPES = {
    bool: "bool",
    int: "int64",
    Uint: "uint64",
    float: "float64",
    bytes: "[]uint8",
    type(None): "structpb.NullValue",
}


class InvalidShardSelector(ValueError):
    """The text is not a shard selector; the message is that of kube-apiserver."""


class _Range(NamedTuple):
    field: str  # as the selector writes it
    start: str
    end: str


class ShardSelector:
    """A parsed selector. `str` of it is the form that a list shows in `shardInfo`."""

    __slots__ = ("_ends", "_field", "_starts", "_text")

    def __init__(self, ranges: list[_Range]) -> None:
        self._text = " || ".join(f"shardRange({each.field}, '{each.start}', '{each.end}')" for each in ranges)
        self._field = _FIELDS[ranges[0].field]
        starts, ends = list[int](), list[int]()
        for start, end in sorted((int(each.start, 16), int(each.end, 16)) for each in ranges):
            if ends and start <= ends[-1]:
                ends[-1] = max(ends[-1], end)
            else:
                starts.append(start)
                ends.append(end)
        self._starts, self._ends = starts, ends

    def __str__(self) -> str:
        return self._text

    def matches(self, fields: Texts) -> bool:
        """Whether the hash of an object's field is in one of the ranges. `fields` has both fields."""
        found = fnv1a(fields.get(self._field, ""))
        at = bisect_right(self._starts, found) - 1
        return at >= 0 and found < self._ends[at]


def fnv1a(text: str) -> int:
    """The FNV-1a hash of a text in UTF-8, with 64 bits (RFC 9923)."""
    found = _OFFSET
    for byte in text.encode():
        found = (found ^ byte) * _PRIME & _MASK
    return found


def parse(text: str) -> ShardSelector:
    """The selector of a text. Raises InvalidShardSelector."""
    text = text.strip(GO_SPACE)
    if not text:
        _refuse("empty shard selector is not allowed; omit the parameter for unfiltered lists")
    if len(text) > LONGEST_OTHER and _RANGES.fullmatch(text) is None:
        _refuse(f"more than {LONGEST_OTHER} characters, and not only calls of shardRange joined by ||")
    try:
        tree = parse_expression(text, plain=True)
    except CompilationError as error:
        _refuse(f"CEL parse error: {error.problems[0].message}")
    ranges = list(_ranges(tree))
    for each in ranges:
        if each.field != ranges[0].field:
            used = f"{go_quote(ranges[0].field)} and {go_quote(each.field)}"
            _refuse(f"all shard ranges must use the same field, got {used}")
    return ShardSelector(ranges)


def _ranges(node: Node) -> Iterator[_Range]:
    if not isinstance(node, Call):
        _refuse(f"unexpected expression kind {_KINDS[type(node)]}; expected shardRange() call or || operator")
    if node.function == "_||_":
        for argument in node.arguments:
            yield from _ranges(argument)
    elif node.function == "shardRange":
        yield _range(node.arguments)
    else:
        _refuse(f"unsupported function {go_quote(node.function)}; only shardRange() and || are allowed")


def _range(arguments: list[Node]) -> _Range:
    if len(arguments) != 3:
        _refuse(f"shardRange() requires exactly 3 arguments, got {len(arguments)}")
    field = _path(arguments[0])
    if field not in _FIELDS:
        _refuse(f"unsupported field path {go_quote(field)}; supported: object.metadata.uid, object.metadata.namespace")
    start, end = _hash(arguments[1], "hexStart"), _hash(arguments[2], "hexEnd")
    if int(start, 16) >= int(end, 16):
        _refuse(f"shard range start {start} must be less than end {end}")
    return _Range(field, start, end)


def _path(node: Node) -> str:
    """The names of a chain of members, joined by dots."""
    names = list[str]()
    while isinstance(node, Select):
        names.append(node.field)
        node = node.operand
    if not isinstance(node, Ident):
        wanted = "expected field path (e.g. object.metadata.uid)"
        _refuse(f"shardRange() first argument: {wanted}, got expression kind {_KINDS[type(node)]}")
    return ".".join([node.name, *reversed(names)])


def _hash(node: Node, name: str) -> str:
    if not isinstance(node, Literal):
        _refuse(f"{name} must be a string literal (e.g. '0xff'), got expression kind {_KINDS[type(node)]}")
    text = node.value
    if not isinstance(text, str):
        _refuse(f"{name} must be a string literal, got {_GO_TYPES[type(text)]}")
    if not text.startswith("0x"):
        _refuse(f"{name} must have '0x' prefix, got {go_quote(text)}")
    digits = text[2:]
    if not digits:
        _refuse(f"{name}: hex value is required after '0x'")
    if (length := len(digits.encode())) > _DIGITS + 1:
        _refuse(f"{name}: hex value too long ({length} chars, max {_DIGITS + 1}): {go_quote(digits)}")
    for character in digits:
        if character not in _HEX:
            _refuse(f"{name}: invalid hex character {go_quote(character)} in {go_quote(text)}")
    if length > _DIGITS and text != _END:
        _refuse(f"{name}: 17-digit hex value must be '{_END}' (2^64), got {go_quote(text)}")
    if length < _DIGITS:
        meant = go_quote("0x" + digits.rjust(_DIGITS, "0"))
        _refuse(f"{name} must be a 0x-prefixed 16-digit hex value, got {go_quote(text)} (did you mean {meant}?)")
    return text


def _refuse(message: str) -> NoReturn:
    raise InvalidShardSelector(f"invalid shard selector: {message}")
