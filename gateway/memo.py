"""What is remembered of what clients send, bounded by bytes: `memo` for functions of a text, `Memory` for all else."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")

LONGEST = 256  # characters; longer texts hardly come again
_OVERHEAD = 200  # bytes, about, that an entry takes beside its text and its value


class Memory(dict[Key, Value], Generic[Key, Value]):
    """A dict of at most so many bytes; forgets all when it is full, since what is in use is soon back.

    To be filled by `keep` alone. What takes more than `largest` bytes is not kept.
    """

    __slots__ = ("_free", "_largest", "_size")

    def __init__(self, size: int = 4 << 20, largest: int = 16 << 10) -> None:
        super().__init__()
        self._free = self._size = size
        self._largest = largest

    def keep(self, key: Key, value: Value, size: int) -> None:
        """Remembers a value; `size` are the bytes, about, of it and its key that others don't hold anyway."""
        if size > self._largest:
            return
        self._free -= size + _OVERHEAD
        if self._free < 0:
            self.clear()
            self._free -= size + _OVERHEAD
        self[key] = value

    def clear(self) -> None:
        """Forgets all."""
        super().clear()
        self._free = self._size


class _Memo(dict[str, Value], Generic[Value]):
    """Makes what it has not; forgets all when it is full, since what is in use is soon back."""

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

    Texts of more than `longest` characters are not. `share` is how many bytes a text and its result take for each
    character. A call that hits costs no more than a dict's; exceptions are not remembered.
    """

    def decorate(make: Callable[[str], Value]) -> Callable[[str], Value]:
        return _Memo(make, size, longest, share).__getitem__

    return decorate
