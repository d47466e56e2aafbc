"""Guards background work on objects: an error with one object is logged and counted, and the work goes on.

Code that follows objects guards the work on each object. So an invalid object in etcd is skipped, or its last valid
state stays in force, and all other objects are still followed.
"""

from __future__ import annotations

import logging
from types import TracebackType

from storage.entry import Entry
from storage.instruments import counter

log = logging.getLogger(__name__)

FAILURES = counter(
    "apiserver_background_failures_total",
    "Failures of background work, which then restarted or skipped an object, by name.",
    "name",
)
_REPORTED = 64  # approximate bytes of a remembered report


class guarded:
    """`with guarded(name, entry):` swallows an Exception of its block. It is counted under the name, and logged once
    per version of the object.
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
    """Counts an error with an object under a name, and logs it once per version of the object."""
    FAILURES.labels(name).inc()
    mark = "reported", name
    if entry.recall(mark) is None:
        entry.remember(mark, True, _REPORTED)
        extra = {"key": entry.key.decode(errors="replace"), "revision": entry.revision, "error": repr(error)}
        log.error("%s could not process an object, which is skipped", name, extra=extra)
