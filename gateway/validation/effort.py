"""Bounds the work that the checks of one object take by the schema of a custom resource.

A schema may list thousands of alternatives (`anyOf`, `oneOf`, `allOf`), and all of them try each item of a list:
an object of 4 KB then takes minutes. Work is counted in units, not in seconds, so that every machine judges alike.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from gateway.validation.field import FieldError, forbidden

MOST_EFFORT = 4_000_000
"""Units of work for one object: a member or an item that is looked at is one unit."""

TRIED = 2  # units, of an alternative that is tried
FAILED = 20  # units more, if it does not fit, or to count how many checks a value passes
COMPILING = 100  # units, of a pattern that is compiled
TEXT = 32  # characters for one unit that a pattern goes through

TOLD = (
    f"checking the object by the schema of its kind takes more than {MOST_EFFORT} steps; write fewer items in its "
    "lists, or have the schema list fewer alternatives (anyOf, oneOf, allOf)"
)
"""The detail of the error where the work has come to its bound: the rest of the object was not checked."""


class TooMuchEffort(Exception):
    """Raised by `spend` when the work has come to its bound; `limited` catches it."""


class _Effort(threading.local):
    """The units that are left in this thread; None where no object is being checked."""

    left: int | None = None


_effort = _Effort()


def limited(check: Callable[[], Sequence[FieldError]], path: str = "<nil>", detail: str = TOLD) -> Sequence[FieldError]:
    """What a check finds; where it takes more than MOST_EFFORT, one error at `path` that says so with `detail`. Of
    nested ones the outermost counts.
    """
    if _effort.left is not None:
        return check()
    _effort.left = MOST_EFFORT
    try:
        return check()
    except TooMuchEffort:
        return [forbidden(path, detail)]
    finally:
        _effort.left = None


def spend(units: int) -> None:
    """To be called before work of so many units. Raises TooMuchEffort within `limited`, once all are spent."""
    left = _effort.left
    if left is not None:
        if left < units:
            raise TooMuchEffort
        _effort.left = left - units
