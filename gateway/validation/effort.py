"""Bounds the work of checking one object by the schema of a custom resource.

A schema may list thousands of alternatives (`anyOf`, `oneOf`, `allOf`), and each of them checks each item of a list:
an object of 4 KB could take minutes. Work is counted in units and not in seconds, so that all machines decide alike.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from gateway.validation.field import FieldError, forbidden

MOST_EFFORT = 4_000_000
"""The most units of work for one object. One member or item that is checked is one unit."""

TRIED = 2  # units for each alternative that is tried
FAILED = 20  # more units if it does not fit, and for each count of the checks that a value passes
COMPILING = 100  # units for compiling a pattern
TEXT = 32  # characters that a pattern searches for one unit
STEPS = 100  # more steps of a search for one unit, if it may take very many

TOLD = (
    f"checking the object by the schema of its kind takes more than {MOST_EFFORT} steps; write fewer items in its "
    "lists, or have the schema list fewer alternatives (anyOf, oneOf, allOf)"
)
"""The detail of the error if the units run out: the rest of the object was not checked."""


class TooMuchEffort(Exception):
    """Raised by `spend` when the units run out; `limited` catches it."""


class _Effort(threading.local):
    """The units that are left in this thread; None outside of `limited`."""

    left: int | None = None


_effort = _Effort()


def limited(check: Callable[[], Sequence[FieldError]], path: str = "<nil>", detail: str = TOLD) -> Sequence[FieldError]:
    """Runs a check with MOST_EFFORT units and returns its errors. If the units run out, returns one error at `path`
    with `detail`. Within another `limited`, only the outer one counts.
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
    """Callers spend units before they do work. Raises TooMuchEffort within `limited` if fewer units are left."""
    left = _effort.left
    if left is not None:
        if left < units:
            raise TooMuchEffort
        _effort.left = left - units
