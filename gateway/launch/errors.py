"""The errors that keep a server from running."""

from __future__ import annotations


class LaunchError(Exception):
    """The server cannot start, or cannot go on; the message says why, in one line."""


class CannotServe(Exception):
    """The server cannot start, or cannot go on; the message says why. `passing` if another attempt may succeed."""

    def __init__(self, message: str, passing: bool = True) -> None:
        super().__init__(message)
        self.passing = passing


class StopRequested(CannotServe):
    """The server got the signal to stop during its start. This is not logged as an error."""
