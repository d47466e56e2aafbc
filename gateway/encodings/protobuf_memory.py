"""Remembers encoded values that are likely to occur again: most fields have few different values, and objects of one
template share most of their content. The number and the size of the values are bounded.
"""

from __future__ import annotations

from typing import Any

from orjson import JSONEncodeError

from gateway.encodings.protobuf_values import VARINTS, Value
from gateway.jsontypes import dumps

_MEMO_LIMIT, _MEMO_LENGTH, _TEXT_LENGTH = 1024, 128, 32
_SHARED_LIMIT, _SHARED_LENGTH = 256, 2048
_REST = 4096  # structs that are encoded without the memo, after it had more misses than hits


class FieldMemo(dict[Any, bytes]):
    """The encoded bytes of one field, with its tag, by value. The key None is an absent field."""

    __slots__ = ("_absent", "_encode", "_tag")

    def __init__(self, tag_: bytes, encode: Value, absent: bytes) -> None:
        super().__init__({None: absent})
        self._tag, self._encode, self._absent = tag_, encode, absent

    def __missing__(self, value: Any) -> bytes:
        made = self._tag + self._encode(value)
        return self.kept(value, made) if len(made) <= _MEMO_LENGTH else made

    def kept(self, value: Any, made: bytes) -> bytes:
        if len(self) >= _MEMO_LIMIT:
            self.clear()
            self[None] = self._absent
        self[value] = made
        return made


class StringMemo(FieldMemo):
    """As Memo, for strings. Long ones are not kept, because most are unique (UIDs, names of images)."""

    def __missing__(self, value: str) -> bytes:
        content = value.encode()
        size = len(content)
        if size > _TEXT_LENGTH:
            return self._tag + VARINTS[size] + content
        return self.kept(value, self._tag + VARINTS[size] + content)


class SharedMessages:
    """The messages of structs, by their JSON: to make the JSON is much faster than to make the message."""

    __slots__ = ("_encode", "_hits", "_known", "_misses", "_rest")

    def __init__(self, encode: Value) -> None:
        self._encode = encode
        self._known: dict[bytes, bytes] = {}
        self._hits = self._misses = self._rest = 0

    def __call__(self, item: Any) -> bytes:
        if self._rest:
            self._rest -= 1
            return self._encode(item)
        try:
            key = dumps(item)
        except JSONEncodeError:  # nested too deeply for it
            return self._encode(item)
        known = self._known.get(key)
        if known is not None:
            self._hits += 1
            return known
        made = self._encode(item)
        self._misses += 1
        if self._misses > _SHARED_LIMIT:
            if self._hits < self._misses:
                self._rest = _REST
            self._known.clear()
            self._hits = self._misses = 0
        if len(key) <= _SHARED_LENGTH:
            self._known[key] = made
        return made
