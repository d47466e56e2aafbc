"""What keeps a server from running."""

from __future__ import annotations


class LaunchError(Exception):
    """The server cannot start, or cannot go on; the message says why, in one line."""


class CannotServe(Exception):
    """The server cannot start, or cannot go on; the message says why. `passing` if another attempt may go better."""

    def __init__(self, message: str, passing: bool = True) -> None:
        super().__init__(message)
        self.passing = passing


class ToldToStop(CannotServe):
    """The server was told to stop before it could serve: that is no fault of anything."""
