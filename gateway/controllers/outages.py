"""What the log says of writes that fail again and again: one line when that begins, and one when it is over.

While etcd does not answer, its watch says so (storage/feed.py); everybody else who needs etcd stays silent.
"""

from __future__ import annotations

import logging

from gateway.http.status import StatusError
from storage.errors import StorageError, Unanswered, Unavailable

_UNAVAILABLE = (503, 504)  # codes of what etcd did not do


class Outage:
    """The failures of one thing that is done from time to time."""

    def __init__(self, logger: logging.Logger, what: str) -> None:
        """`what` is the line of its failure, such as "this server's lease was not renewed"."""
        self._logger, self._what, self._said = logger, what, False

    def failed(self, error: StatusError | StorageError | OSError) -> None:
        """Notes a failure with `error`: the first one is logged."""
        if isinstance(error, Unavailable | Unanswered) or getattr(error, "code", 0) in _UNAVAILABLE:
            self._logger.debug(self._what, extra={"error": str(error)})
        elif not self._said:
            self._said = True
            self._logger.warning(self._what, extra={"error": str(error)})

    def succeeded(self) -> None:
        """Notes a success: the first one after a failure is logged."""
        if self._said:
            self._said = False
            self._logger.info("over: %s", self._what)
