"""Logs repeated failures of writes: one line when they begin, and one when they are over.

While etcd does not answer, only the watch on etcd logs it (storage/feed.py). Other code that needs etcd logs nothing.
"""

from __future__ import annotations

import logging

from gateway.http.status import StatusError
from storage.errors import StorageError, Unanswered, Unavailable

_UNAVAILABLE = (503, 504)  # status codes of errors because etcd did not answer


class Outage:
    """The failures of one repeated task."""

    def __init__(self, logger: logging.Logger, what: str) -> None:
        """`what` is the log message of a failure, such as "this server's lease was not renewed"."""
        self._logger, self._what, self._said = logger, what, False

    def failed(self, error: StatusError | StorageError | OSError) -> None:
        """Records a failure. Logs it if it is the first one."""
        if isinstance(error, Unavailable | Unanswered) or getattr(error, "code", 0) in _UNAVAILABLE:
            self._logger.debug(self._what, extra={"error": str(error)})
        elif not self._said:
            self._said = True
            self._logger.warning(self._what, extra={"error": str(error)})

    def succeeded(self) -> None:
        """Records a success. Logs it if it is the first one after a failure."""
        if self._said:
            self._said = False
            self._logger.info("this failure has ended: %s", self._what)
