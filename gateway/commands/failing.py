"""The failure of a command: one line and an exit status."""

from __future__ import annotations


class CommandFailed(Exception):
    """The command can't do what it was told to; the message says why, in one line."""
