"""Parses a JSONPath, in one pass and up to a length.

It is as lenient as Kubernetes' own parser: with quotes within names, words after blanks, and text between actions.
"""

from __future__ import annotations

import math
import re

from gateway.kinds.columns.jsonpath_nodes import (
    FieldNode,
    Filter,
    Keyword,
    LiteralNode,
    Node,
    Opaque,
    PathError,
    Recursive,
    Slice,
    Text,
    Union,
    Wildcard,
)

MAX_LENGTH = 1024
MAX_NESTING = 4

_ENDS = "][.,$@{} \t\r\n"
_name = re.compile(r"(?:\\.|[^\\\]\[.,$@{} \t\r\n])*+\\?", re.DOTALL).match
_word = re.compile(r"[^\]\[.,$@{} \t\r\n]+").match
_number = re.compile(r"[-+]?[\d.]*").match
_comparison = re.compile(r"([^!<>=]++)(?=[^\n]*\Z)([!<>=]+)(.+)").fullmatch
_slice = re.compile(r"(-?[0-9]*)(:-?[0-9]*)?(:-?[0-9]*)?").fullmatch
_quoted_key = re.compile(r"'([^']*)'").fullmatch
_escape = re.compile(
    r"\\(?:([abfnrtv\\'\"])|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3}))|(\\|.)", re.DOTALL
)
_SHORT = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\"}
_MAX_INT = 1 << 63


def parse(text: str) -> tuple[tuple[Node, ...], ...]:
    """The actions of the path {text}, each a tuple of nodes. Text between actions is one, too. Raises PathError."""
    if len(text) > MAX_LENGTH:
        raise PathError("the path is too long")
    return _parse(text, 0)


def _parse(text: str, depth: int) -> tuple[tuple[Node, ...], ...]:
    if depth > MAX_NESTING:
        raise PathError("the path is nested too deeply")
    actions = list[tuple[Node, ...]]()
    whole, at = f"{{{text}}}", 0
    while at < len(whole):
        start = whole.find("{", at)
        if start < 0:
            start = len(whole)
        if start > at:
            actions.append((Text(whole[at:start]),))
        if start < len(whole):
            nodes, at = _Action(whole, start + 1, depth).read()
            actions.append(nodes)
        else:
            at = start
    return tuple(actions)


def _one(text: str, depth: int) -> tuple[Node, ...]:
    """The first action of a part of a path."""
    return _parse(text, depth + 1)[0]


class _Action:
    """Parses one action, from after its "{" to its "}"."""

    __slots__ = ("at", "depth", "nodes", "text")

    def __init__(self, text: str, at: int, depth: int) -> None:
        self.text, self.at, self.depth = text, at, depth
        self.nodes: list[Node] = []

    def read(self) -> tuple[tuple[Node, ...], int]:
        text = self.text
        while True:
            if self.at >= len(text) or text[self.at] in "\r\n":
                raise PathError("unclosed action")
            first = text[self.at]
            if first == "}":
                return tuple(self.nodes), self.at + 1
            if text.startswith("[?(", self.at):
                self._filter()
            elif text.startswith("..", self.at):
                self._recursive()
            elif first in " @$":
                self.at += 1
            elif first == "[":
                self._array()
            elif first in "\"'":
                self._quote(first)
            elif first == ".":
                self.at += 1
                self._field()
            elif first in "+-" or first.isdecimal():
                self._number()
            elif first == "_" or first.isalpha():
                self._keyword()
            else:
                raise PathError(f"unrecognized character in action: U+{ord(first):04X} '{first}'")

    def _field(self) -> None:
        found = _name(self.text, self.at)
        assert found is not None
        self.at = found.end()
        name = found[0]
        self.nodes.append(Wildcard() if name == "*" else FieldNode(name.replace("\\", "")))

    def _recursive(self) -> None:
        if self.nodes and isinstance(self.nodes[-1], Recursive):
            raise PathError("invalid multiple recursive descent")
        self.nodes.append(Recursive())
        self.at += 2
        following = self.text[self.at : self.at + 1]
        if following == "_" or following.isalpha() or following.isdecimal():
            self._field()

    def _keyword(self) -> None:
        found = _word(self.text, self.at)
        assert found is not None
        self.at = found.end()
        word = found[0]
        self.nodes.append(LiteralNode(word == "true") if word in ("true", "false") else Keyword(word))

    def _number(self) -> None:
        found = _number(self.text, self.at)
        assert found is not None
        self.at = found.end()
        try:
            if not found[0].isascii():
                raise ValueError
            number: float | Opaque = float(found[0])
            if "." not in found[0] and -_MAX_INT <= int(found[0]) < _MAX_INT:
                number = Opaque(found[0])
            elif math.isinf(number):
                raise ValueError
        except ValueError:
            raise PathError(f"cannot parse number {found[0]}") from None
        self.nodes.append(LiteralNode(number))

    def _quote(self, quote: str) -> None:
        end = self.at
        while True:
            end = self.text.find(quote, end + 1)
            if end < 0 or "\n" in self.text[self.at : end]:
                raise PathError("unterminated quoted string")
            if self.text[end - 1] != "\\":
                break
        self.nodes.append(Text(_unquoted(self.text[self.at + 1 : end], quote)))
        self.at = end + 1

    def _array(self) -> None:
        end = self.text.find("]", self.at)
        inner = self.text[self.at + 1 : end]
        if end < 0 or "\n" in inner:
            raise PathError("unterminated array")
        self.at = end + 1
        if "," in inner:
            self.nodes.append(Union(tuple([_one(f"[{one.strip(' ')}]", self.depth) for one in inner.split(",")])))
        elif key := _quoted_key(inner):
            self.nodes += _one(f".{key[1]}", self.depth)
        else:
            self.nodes.append(_slice_of(":" if inner == "*" else inner))

    def _filter(self) -> None:
        start = self.at + len("[?(")
        end = self._filter_end(start)
        text = self.text[start:end]
        if self.text[end + 1 : end + 2] != "]":
            raise PathError("unclosed array expect ]")
        self.at = end + 2
        if compared := _comparison(text):
            left, right = _one(compared[1], self.depth), _one(compared[3], self.depth)
            self.nodes.append(Filter(left, right, compared[2]))
        else:
            self.nodes.append(Filter(_one(text, self.depth), (), "exists"))

    def _filter_end(self, start: int) -> int:
        """The position of the ")" of a filter: the first one outside the first quoted text."""
        quote, closed = "", False
        for i in range(start, len(self.text)):
            character = self.text[i]
            if character == "\n":
                break
            if character in "\"'":
                if not quote:
                    quote = character
                elif character == quote and self.text[i - 1] != "\\":
                    closed = True
            elif character == ")" and bool(quote) == closed:
                return i
        raise PathError("unterminated filter")


def _slice_of(text: str) -> Slice:
    found = _slice(text)
    if found is None:
        raise PathError(f"invalid array index {text}")
    start = _index(found[1]) if found[1] else None
    if not found[2]:
        single = True
        end: int | None = (start or 0) + 1
    else:
        single = False
        end = _index(found[2][1:]) if found[2][1:] else None
    step = _index(found[3][1:]) if (found[3] or "")[1:] else None
    return Slice(start, end, step, single)


def _index(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        raise PathError(f"array index {text} is not a number") from None
    if not -_MAX_INT <= number < _MAX_INT:
        raise PathError(f"array index {text} is not a number")
    return number


def _unquoted(text: str, quote: str) -> str:
    """A quoted text with Go's escapes resolved. Raises PathError."""
    if "\\" not in text:
        return text
    out = bytearray()
    for found in _escape.finditer(text):
        short, byte, four, eight, octal, plain = found.groups()
        if plain is not None and plain not in ("\\", quote):
            out += plain.encode("utf-8", "surrogatepass")
        elif short is not None and (short in _SHORT or short == quote):
            out += _SHORT.get(short, short).encode()
        elif byte is not None or (octal is not None and int(octal, 8) < 256):
            out.append(int(byte, 16) if byte is not None else int(octal, 8))
        elif (code := int(four or eight or "110000", 16)) < 0x110000 and not 0xD800 <= code < 0xE000:
            out += chr(code).encode()
        else:
            raise PathError(f"unquote string {text} error invalid syntax")
    return out.decode("utf-8", "replace")
