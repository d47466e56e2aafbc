"""Steps of reading patches that all their types share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gateway.http.status import StatusError
from gateway.jsontypes import JsonObject
from gateway.kinds.resource import Resource
from gateway.schema.decode import DecodeError
from gateway.writing.make import Made, Present
from gateway.writing.write import Write

Fail = Callable[[str, bool], StatusError]
"""Makes the error of a message; the flag is whether it is about unknown or duplicate fields."""

Parsed = tuple[Any, list[str]]
"""A patch, and the problems of reading it that matter to a strict reader."""

MakePatched = Callable[[Present, list[str]], Made]
"""Makes the patched object, and adds warnings to the list. Raises StatusError."""


def read_internal(resource: Resource, new: JsonObject, fail: Fail | None) -> None:
    """Runs the resource's `read_internal`. If it fails, raises the error that `fail` makes; without `fail`, a 500."""
    read = resource.read_internal
    if read is None or "metadata" not in new:
        return
    try:
        if annotations := new["metadata"].get("annotations"):
            new["metadata"] = {**new["metadata"], "annotations": dict(annotations)}  # the old object may share them
            read(new)
    except DecodeError as error:
        raise (fail(str(error), False) if fail else StatusError(500, "", str(error))) from None


def read_once(write: Write, parse: Callable[[], Parsed]) -> Callable[[], Parsed]:
    """Wraps `parse` to run at the first call only: the patch of a missing object is never parsed.

    The result is recorded for the audit log at once, before it is changed.
    """
    found: list[Parsed] = []

    def parsed() -> Parsed:
        if not found:
            found.append(_recorded(write, parse()))
        return found[0]

    return parsed


def read_anew(write: Write, parse: Callable[[], Parsed]) -> Callable[[], Parsed]:
    """As `read_once`, for a patch that merging changes: each call parses it again, so that no step has to copy it.

    Another write may come first, so a call may be one of several.
    """
    return lambda: _recorded(write, parse())


def _recorded(write: Write, found: Parsed) -> Parsed:
    if write.patched is not None:
        write.patched(found[0])
    return found
