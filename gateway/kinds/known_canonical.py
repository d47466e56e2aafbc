"""Values that are known to be canonical: the watch cache need not parse a value that its process has just written."""

from __future__ import annotations

_LONGEST = 2 << 20  # bytes
_MOST = 8 << 20  # bytes of all values of a process


class KnownCanonical:
    """Canonical values of one model that the process has written, and that the cache has not received yet."""

    __slots__ = ()

    def add(self, value: bytes) -> None:
        """Records a value that is canonical."""
        if len(value) > _LONGEST or (self, value) in _noted:
            return
        _noted[self, value] = None
        _size[0] += len(value)
        while _size[0] > _MOST:  # values of failed writes are never taken
            self._forget(next(iter(_noted)))

    def take(self, value: bytes) -> bool:
        """Whether a value is known to be canonical. The value is forgotten: the next call returns False."""
        if (self, value) not in _noted:
            return False
        self._forget((self, value))
        return True

    def _forget(self, noted: tuple[KnownCanonical, bytes]) -> None:
        del _noted[noted]
        _size[0] -= len(noted[1])


_noted: dict[tuple[KnownCanonical, bytes], None] = {}
_size = [0]
