"""The exception with which a command fails."""

from __future__ import annotations


class CommandFailed(Exception):
    """The command cannot do its work; the message says why, in one line."""
