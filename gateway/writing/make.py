"""How an update makes the new object: a pure function from the present object to the new one and what was found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from gateway.apply.in_versions import ToVersion
from gateway.jsontypes import JsonObject
from gateway.writing.unchanged_members import UnchangedMembers


class Present(NamedTuple):
    """The present object, as a function that makes the new one sees it."""

    obj: JsonObject | None  # in the served version, with its resourceVersion; None if there is none
    value: bytes = b""  # its canonical bytes
    revision: int = 0
    shares: bool = False  # whether the new object may share unchanged members with it
    convert: ToVersion | None = None  # converts it to a version of managedFields; None for kinds with one version


class Made(NamedTuple):
    """The new object, and what was found while it was made. An update that changes nothing has the present object."""

    obj: JsonObject
    kept: UnchangedMembers | None = None  # the members that it shares with the present object
    unstored: Sequence[str] = ()  # members and paths that are not stored as they were sent: see empty_lists.unstored
    warnings: Sequence[str] = ()
    withdrawn: bool = False  # the writer wants no update after all, so that nothing is judged; only for own writers


MakeObject = Callable[[Present], Made]
"""Makes the new object (served version, managedFields set). It sets nothing, and may be called several times.

Raises StatusError, whose `warnings` are told, too.
"""
