"""Removes managed fields from the text of JSON, for answers that have too many arrays to be parsed again."""

from __future__ import annotations

import re

_QUOTE, _ARRAY, _ARRAY_END, _OBJECT, _OBJECT_END = b'"[]{}'
_TOKENS = re.compile(rb'"[^"]*"(\s*:)?|[\[\]{}]')  # in text without escaped quotes; the group marks a member's name
_ROOT, _ITEMS, _ROWS, _ITEM, _WRAPPED, _METADATA = "root", "items", "rows", "item", "object", "metadata"
_BELOW = {
    ("", _OBJECT, b""): _ROOT,
    (_ROOT, _OBJECT, b"metadata"): _METADATA,
    (_ROOT, _ARRAY, b"items"): _ITEMS,
    (_ROOT, _ARRAY, b"rows"): _ROWS,
    (_ITEMS, _OBJECT, b""): _ITEM,
    (_ROWS, _OBJECT, b""): _ITEM,
    (_ITEM, _OBJECT, b"metadata"): _METADATA,
    (_ITEM, _OBJECT, b"object"): _WRAPPED,
    (_WRAPPED, _OBJECT, b"metadata"): _METADATA,
}
"""The kind of an array or object, by the kind of its parent, its bracket, and its member name. Arrays and objects that
are not in this table have no managed fields.
"""


def cut_out_managed_fields(data: bytes) -> bytes:
    """JSON without the member managedFields of `metadata`: of the object, and of the objects of a list or table.

    `data` is valid JSON without duplicate names, and no escape stands for a letter. The work is a step for each string,
    array and object, after each of which another thread may run.
    """
    spans = _Scan(data).spans()
    kept, at = list[bytes](), 0
    for begin, end in spans:
        kept.append(data[at:begin])
        at = end
    return b"".join((*kept, data[at:]))


class _Scan:
    """Finds the text of managed fields, each with one of the commas beside it."""

    def __init__(self, data: bytes) -> None:
        self._text = data.replace(b"\\\\", b"__").replace(b'\\"', b"__")  # every position stays the same
        self._open: list[str] = []  # the arrays and objects around a position that _BELOW has
        self._opened = 0  # where the last of them begins
        self._begun = -1  # where managed fields begin whose end is not found yet
        self._found: dict[str, list[tuple[int, int]]] = {}  # by the list that they are in

    def spans(self) -> list[tuple[int, int]]:
        """The beginnings and ends, in order. A table's rows count only in an object that has no items."""
        text, inner, name = self._text, 0, b""  # `inner`: how many open arrays and objects _BELOW has not
        for token in _TOKENS.finditer(text):
            start = token.start()
            character = text[start]
            if character == _QUOTE:
                if not inner and token.lastindex:
                    name = text[start + 1 : text.index(b'"', start + 1)]
                    self._member(name, start)
            elif character in (_ARRAY, _OBJECT):
                below = None if inner else _BELOW.get((self._open[-1] if self._open else "", character, name))
                if below is None:
                    inner += 1
                else:
                    self._open.append(below)
                    self._opened, name = start, b""
                    self._found.setdefault(below, [])
            elif inner:
                inner -= 1
            else:
                self._close(start)
                name = b""
        lists = {*self._found} - ({_ROWS} if _ITEMS in self._found else set())
        return sorted(span for each in lists for span in self._found[each])

    def _member(self, name: bytes, start: int) -> None:
        if self._begun >= 0:
            self._keep(self._begun, start)
        if self._open[-1] == _METADATA and name == b"managedFields":
            self._begun = start

    def _close(self, end: int) -> None:
        if self._begun >= 0:
            first = not self._text[self._opened + 1 : self._begun].strip()
            self._keep(self._begun if first else self._text.rindex(b",", 0, self._begun), end)
        self._open.pop()

    def _keep(self, begin: int, end: int) -> None:
        self._found[self._open[1]].append((begin, end))
        self._begun = -1
