"""Values known to be canonical: a process does not parse a value for its cache that it has just written itself."""

from __future__ import annotations

_LONGEST = 2 << 20  # bytes
_MOST = 8 << 20  # bytes of all values of a process


class SettledValues:
    """The values of one model that were written a moment ago and nobody has read yet."""

    __slots__ = ()

    def add(self, value: bytes) -> None:
        """Notes a value that reading would not change."""
        if len(value) > _LONGEST or (self, value) in _noted:
            return
        _noted[self, value] = None
        _size[0] += len(value)
        while _size[0] > _MOST:  # of writes that failed
            self._forget(next(iter(_noted)))

    def take(self, value: bytes) -> bool:
        """Whether a value is known to be read as it is; it is asked once."""
        if (self, value) not in _noted:
            return False
        self._forget((self, value))
        return True

    def _forget(self, noted: tuple[SettledValues, bytes]) -> None:
        del _noted[noted]
        _size[0] -= len(noted[1])


_noted: dict[tuple[SettledValues, bytes], None] = {}
_size = [0]
