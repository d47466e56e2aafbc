"""Parses JSON exactly as Go's encoding/json does, for bodies that the fast parser refuses or may read differently.

The accepted syntax and depth, the replacement of invalid UTF-8, and the wording of syntax errors are Go's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NoReturn

from gateway.jsontypes import MOST_COLLECTIONS, MOST_NAMES
from gateway.schema.errors import DecodeError, TooMany
from gateway.schema.exact import Number, PairsObject
from gateway.text.unicode import REPLACEMENT, valid

MAX_DEPTH = 10000
END_OF_INPUT = "unexpected end of JSON input"

_space = re.compile(r"[ \t\r\n]*").match
_simple_string = re.compile(r'"([^"\\\x00-\x1f]*)"').match
_string = re.compile(r'"((?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+)"').match
_string_start = re.compile(r'"(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*').match
_number = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?").match
_INSIDE = ("in numeric", "in exponent", "in literal", "in string escape", "in \\u", "after decimal")
_LITERALS = {"t": ("true", True), "f": ("false", False), "n": ("null", None)}


_PIECE = 1 << 16  # characters that are translated in one step, which keeps the GIL
_MARKS = {0xDC00 + byte: REPLACEMENT for byte in range(0x80, 0x100)}  # for the bytes that surrogateescape keeps


_EMPTY = PairsObject()
_KEYS, _KEY_LENGTH = 4096, 64  # so many different keys of at most this length are kept once for a document

Spell = Callable[[str, str], str]
"""Takes the JSON text of a string (without quotation marks) and the string; returns the value to use for it."""


def parse(data: bytes, spell: Spell | None = None) -> Any:
    """The value, with `PairsObject` for objects and `Number` for numbers but plain integers.

    Raises DecodeError for invalid JSON, and TooMany for more than MOST_COLLECTIONS arrays and objects or MOST_NAMES
    members of one object.
    """
    return _Parser(data.decode("latin-1"), spell).document()


class _Parser:
    """Reads one document. `text` has one character for each byte (Latin-1); strings become Unicode one by one."""

    def __init__(self, text: str, spell: Spell | None) -> None:
        self.text = text
        self.spell = spell
        self.at = 0
        self.open: list[PairsObject | list[Any]] = []
        self.collections = 0
        self.keys: list[str] = []  # for each open object, the key of the member that is being read
        self.names: dict[str, str] = {}  # keys that were read, so that equal ones are one string

    def document(self) -> Any:
        while True:
            value, complete = self._value()
            while complete:
                if not self.open:
                    self._skip_space()
                    if self.at < len(self.text):
                        self._fail("after top-level value")
                    return value
                value, complete = self._after(value)

    def _value(self) -> tuple[Any, bool]:
        """Returns a value and true; or None and false after the opening bracket of a container that has elements."""
        self._skip_space()
        first = self.text[self.at : self.at + 1]
        if first == '"':
            return self._string(), True
        if first == "{":
            return self._open(PairsObject, "}")
        if first == "[":
            return self._open(list, "]")
        if first and first in "-0123456789":
            return self._number(), True
        if first in _LITERALS:
            return self._literal(first), True
        self._fail("looking for beginning of value")

    def _open(self, make: type[PairsObject] | type[list[Any]], closing: str) -> tuple[Any, bool]:
        if len(self.open) >= MAX_DEPTH:
            self._fail("exceeded max depth")
        self.collections += 1
        if self.collections > MOST_COLLECTIONS:
            raise TooMany(f"json: more than {MOST_COLLECTIONS} arrays and objects; send fewer")
        self.at += 1
        self._skip_space()
        if self.text[self.at : self.at + 1] == closing:
            self.at += 1
            return _EMPTY if make is PairsObject else [], True
        self.open.append(make())
        if make is PairsObject:
            self._key()
        return None, False

    def _key(self) -> None:
        self._skip_space()
        if self.text[self.at : self.at + 1] != '"':
            self._fail("looking for beginning of object key string")
        name = self._string()
        if len(name) <= _KEY_LENGTH and len(self.names) < _KEYS:
            name = self.names.setdefault(name, name)
        else:
            name = self.names.get(name, name)
        self.keys.append(name)
        self._skip_space()
        if self.text[self.at : self.at + 1] != ":":
            self._fail("after object key")
        self.at += 1

    def _after(self, value: Any) -> tuple[Any, bool]:
        """Adds a value to the innermost open container. Returns that container and true if this completes it."""
        container = self.open[-1]
        self._skip_space()
        following = self.text[self.at : self.at + 1]
        if isinstance(container, PairsObject):
            container.append(self.keys.pop(), value)
            if len(container) > MOST_NAMES:
                raise TooMany(f"json: more than {MOST_NAMES} members of one object; send fewer")
            if following not in ("}", ","):
                self._fail("after object key:value pair")
        else:
            container.append(value)
            if following not in ("]", ","):
                self._fail("after array element")
        self.at += 1
        if following != ",":
            return self.open.pop(), True
        if isinstance(container, PairsObject):
            self._key()
        return None, False

    def _string(self) -> str:
        found = _simple_string(self.text, self.at) or _string(self.text, self.at)
        if found is None:
            start = _string_start(self.text, self.at)
            assert start is not None
            self.at = start.end()
            self._fail_in_string()
        self.at = found.end()
        raw = found[1]
        text = raw if raw.isascii() else _decoded(raw.encode("latin-1"))
        if self.spell is not None:
            return self.spell(text, _unescaped(text))
        return _unescaped(text)

    def _fail_in_string(self) -> NoReturn:
        if self.text[self.at : self.at + 1] != "\\":
            self._fail("in string literal")
        self.at += 1
        if self.text[self.at : self.at + 1] != "u":
            self._fail("in string escape code")
        while True:
            self.at += 1
            if self.text[self.at : self.at + 1] not in tuple("0123456789abcdefABCDEF"):
                self._fail("in \\u hexadecimal character escape")

    def _number(self) -> Any:
        start = self.at
        found = _number(self.text, start)
        if found is None:
            self.at += 1
            self._fail("in numeric literal")
        self.at = found.end()
        following = self.text[self.at : self.at + 1]
        if following == "." and not found[1] and not found[2]:
            self.at += 1
            self._fail("after decimal point in numeric literal")
        if following in ("e", "E") and not found[2]:
            self.at += 1
            if self.text[self.at : self.at + 1] in ("+", "-"):
                self.at += 1
            self._fail("in exponent of numeric literal")
        return Number(found[0]) if found[1] or found[2] else int(found[0]) if len(found[0]) < 40 else Number(found[0])

    def _literal(self, first: str) -> Any:
        word, value = _LITERALS[first]
        for expected in word:
            if self.text[self.at : self.at + 1] != expected:
                self._fail(f"in literal {word} (expecting '{expected}')")
            self.at += 1
        return value

    def _skip_space(self) -> None:
        found = _space(self.text, self.at)
        assert found is not None
        self.at = found.end()

    def _fail(self, where: str) -> NoReturn:
        if self.at >= len(self.text) and not where.startswith(_INSIDE):
            raise DecodeError(END_OF_INPUT)
        character = self.text[self.at : self.at + 1] or " "  # Go's scanner reads the end as a space
        shown = "\\'" if character == "'" else '"' if character == '"' else quote(character)[1:-1]
        raise DecodeError(f"invalid character '{shown}' {where}")


def _decoded(raw: bytes) -> str:
    """UTF-8 as Go reads it: U+FFFD for each byte that is not valid. Calls no function for each of them."""
    kept, marked = raw.decode("utf-8", "surrogateescape"), raw.decode("utf-8", "replace")
    if len(kept) == len(marked):  # otherwise, one mark is in the place of the two or three bytes of half a character
        return marked
    return "".join(kept[at : at + _PIECE].translate(_MARKS) for at in range(0, len(kept), _PIECE))


def _unescaped(text: str) -> str:
    """The content of a JSON string with valid escapes; U+FFFD for half a surrogate pair. As for `_decoded`, a function
    for each escape would take twenty times as long.
    """
    return valid(json.loads(f'"{text}"')) if "\\" in text else text


_QUOTE_ESCAPES = {
    **{ord(c): f"\\{c}" for c in '"\\'},
    **{code: f"\\{name}" for name, code in zip("abfnrtv", (7, 8, 12, 10, 13, 9, 11), strict=True)},
}


def quote(text: str) -> str:
    """A text as Go's strconv.Quote writes it."""
    out = []
    for character in text:
        code = ord(character)
        if code in _QUOTE_ESCAPES:
            out.append(_QUOTE_ESCAPES[code])
        elif character.isprintable():
            out.append(character)
        elif code < 0x20 or code == 0x7F:
            out.append(f"\\x{code:02x}")
        else:
            out.append(f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")
    return f'"{"".join(out)}"'
