"""What goes wrong with one object beside the requests: told and counted, and of no concern to others.

Who follows objects takes each of them for itself: one that somebody wrote to etcd and that makes no sense is left out,
or stays what it was, and all others go on being followed.
"""

from __future__ import annotations

import logging
from types import TracebackType

from storage.entry import Entry
from storage.instruments import counter

log = logging.getLogger(__name__)

FAILURES = counter(
    "apiserver_background_failures_total",
    "Failures of background work, which then began again or skipped an object, by name.",
    "name",
)
_REPORTED = 64  # bytes that remembering a report takes, about


class guarded:
    """`with guarded(name, entry):` ends where the block raises: that is counted under the name, and logged once a
    version of the object.
    """

    __slots__ = ("_entry", "_name")

    def __init__(self, name: str, entry: Entry) -> None:
        self._name, self._entry = name, entry

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if error is None:
            return False
        if not isinstance(error, Exception):
            return False
        report(self._name, self._entry, error)
        return True


def report(name: str, entry: Entry, error: Exception) -> None:
    """Counts an error with an object under a name, and logs it once a version of the object."""
    FAILURES.labels(name).inc()
    mark = "reported", name
    if entry.recall(mark) is None:
        entry.remember(mark, True, _REPORTED)
        extra = {"key": entry.key.decode(errors="replace"), "revision": entry.revision, "error": repr(error)}
        log.error("%s could not take in an object", name, extra=extra)
