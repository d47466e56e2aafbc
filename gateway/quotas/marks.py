"""Marks: white space at the end of a stored quota, which tells the group of writes that charged it from all others."""

from __future__ import annotations

import os

from storage.entry import BlankedEntry, Entry

_HALF = 4  # bytes for the process, and as many for its group
_SIZE = 2 * 8 * _HALF
_BLANKS = bytes.maketrans(b"01", b" \t")


def _blanks() -> bytes:
    return f"{int.from_bytes(os.urandom(_HALF)):0{8 * _HALF}b}".encode().translate(_BLANKS)


_own = _blanks()


def _differ() -> None:
    global _own
    _own = _blanks()


os.register_at_fork(after_in_child=_differ)  # a process that was forked is another one


def new_mark() -> bytes:
    """A mark for a new group: half of it is the process's, half is random."""
    return _own + _blanks()


def mark_of(entry: Entry) -> bytes:
    """The mark of a quota; b"" if the last write was not that of a group."""
    return entry.blanks if isinstance(entry, BlankedEntry) and len(entry.blanks) == _SIZE else b""


def is_of_another(mark: bytes) -> bool:
    """Whether a mark is that of another process's group."""
    return bool(mark) and not mark.startswith(_own)
