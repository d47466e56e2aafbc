"""Caches of what is made of client input, bounded in bytes.

`memo` is for functions of one text, `Memory` for what is cheap to make again, `Recent` for what is not: it keeps the
values in use.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from sys import getsizeof
from threading import Lock
from typing import Any, Generic, Protocol, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
T = TypeVar("T")

LONGEST = 256  # characters; a longer text is not cached, since it rarely comes again
_OVERHEAD = 200  # bytes, about, that an entry takes in addition to its text and its value


class Once(Protocol):
    """Returns the result that is kept under the name `fact`, or else that of `make`; the caller need not know which.

    All calls with one `fact` must have equal results. A result None is not kept, so `make` can look without making.
    """

    def __call__(self, fact: Hashable, make: Callable[[], T]) -> T: ...


def each_time(fact: Hashable, make: Callable[[], T]) -> T:
    """The `Once` that keeps nothing."""
    return make()


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


class Recent(Generic[Key, Value]):
    """The most recently used values: at most `most` of them, of at most `size` bytes together. Threads may share it."""

    __slots__ = ("_free", "_kept", "_largest", "_lock", "_most")

    def __init__(self, most: int, size: int, largest: int = 64 << 10) -> None:
        """A value of more than `largest` bytes is not kept."""
        self._most, self._free, self._largest = most, size, largest
        self._kept: OrderedDict[Key, tuple[Value, int]] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def find(self, key: Key) -> Value | None:
        """The value of a key; None if it is not there."""
        with self._lock:
            if (found := self._kept.get(key)) is None:
                return None
            self._kept.move_to_end(key)
            return found[0]

    def keep(self, key: Key, value: Value, size: int) -> None:
        """Keeps a value. `size` is about the bytes of key and value, without objects that are held elsewhere anyway."""
        size += _OVERHEAD
        with self._lock:
            self._drop(key)
            if size > self._largest:
                return
            self._kept[key] = value, size
            self._free -= size
            while self._free < 0 or len(self._kept) > self._most:
                self._free += self._kept.popitem(last=False)[1][1]

    def values(self) -> list[Value]:
        """All values."""
        with self._lock:
            return [value for value, _ in self._kept.values()]

    def clear(self) -> None:
        """Drops all values."""
        with self._lock:
            for key in list(self._kept):
                self._drop(key)

    def _drop(self, key: Key) -> None:
        if (known := self._kept.pop(key, None)) is not None:
            self._free += known[1]


def memory_of(value: Any) -> int:
    """The bytes of memory of a JSON value: a hundred times its text if it has many small members."""
    found, todo = 0, [value]
    while todo:
        each = todo.pop()
        found += getsizeof(each)
        if isinstance(each, dict):
            todo += each.keys()
            todo += each.values()
        elif isinstance(each, list | tuple):
            todo += each
    return found


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

    Exceptions, and texts of more than `longest` characters, are not remembered. `share` is how many bytes a text and
    its result take for each character. A call that hits costs no more than a dict's.
    """

    def decorate(make: Callable[[str], Value]) -> Callable[[str], Value]:
        return _Memo(make, size, longest, share).__getitem__

    return decorate
