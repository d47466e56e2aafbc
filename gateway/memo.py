"""Caches of what is made of client input, bounded in bytes: `memo` for functions of one text, `Memory` for the rest."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")

LONGEST = 256  # characters; a longer text is not cached, since it rarely comes again
_OVERHEAD = 200  # bytes, about, that an entry takes in addition to its text and its value


class Memory(dict[Key, Value], Generic[Key, Value]):
    """A dict of at most `size` bytes. When it is full, all entries are dropped: those in use soon come back.

    Only `keep` may add an entry. One of more than `largest` bytes is not kept.
    """

    __slots__ = ("_free", "_largest", "_size")

    def __init__(self, size: int = 4 << 20, largest: int = 16 << 10) -> None:
        super().__init__()
        self._free = self._size = size
        self._largest = largest

    def keep(self, key: Key, value: Value, size: int) -> None:
        """Keeps a value. `size` is about the bytes of key and value, without objects that are held elsewhere anyway."""
        if size > self._largest:
            return
        self._free -= size + _OVERHEAD
        if self._free < 0:
            self.clear()
            self._free -= size + _OVERHEAD
        self[key] = value

    def clear(self) -> None:
        """Drops all entries."""
        super().clear()
        self._free = self._size


class _Memo(dict[str, Value], Generic[Value]):
    """Computes a missing value. When it is full, all entries are dropped: those in use soon come back."""

    __slots__ = ("_free", "_longest", "_make", "_share", "_size")

    def __init__(self, make: Callable[[str], Value], size: int, longest: int, share: int) -> None:
        super().__init__()
        self._make, self._size, self._longest, self._share = make, size, longest, share
        self._free = size

    def __missing__(self, text: str) -> Value:
        value = self._make(text)
        if len(text) <= self._longest:
            self._free -= len(text) * self._share + _OVERHEAD
            if self._free < 0:
                self.clear()
                self._free = self._size
            self[text] = value
        return value


def memo(
    size: int = 2 << 20, longest: int = LONGEST, share: int = 2
) -> Callable[[Callable[[str], Value]], Callable[[str], Value]]:
    """A decorator for a function of one text: at most `size` bytes of texts and results are remembered.

    Texts of more than `longest` characters are not remembered, and no exceptions. `share` is how many bytes a text and
    its result take for each character. A call that hits costs no more than a dict's.
    """

    def decorate(make: Callable[[str], Value]) -> Callable[[str], Value]:
        return _Memo(make, size, longest, share).__getitem__

    return decorate
