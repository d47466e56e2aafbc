"""Fails a test in which a phase of a write changed an object that is not its to change.

From admission on, the new object belongs to the strategy of its kind, which may change it in `MAY_CHANGE`. Nothing else
that a strategy has may change an object, and nothing at all changes the old one. What makes the new object of an update
(`MakeObject`) leaves the present one as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

import orjson

from gateway.kinds.strategy import Strategy
from gateway.writing.make import Made, Present
from gateway.writing.update import _Update

MAY_CHANGE = ("prepare_for_create", "prepare_for_update", "canonicalize", "default_others", "termination")
"""The members of a strategy that change the new object in place."""

LEAVES = ("validate", "on_updated", "validate_update", "warnings_on_create", "warnings_on_update", "grace_period")
"""The members that get objects and leave them as they are."""

_compared = "is_compared"


def compare_phases() -> None:
    """Compares objects before and after each function of the strategies and updates that are made from now on."""
    complete, make = Strategy.__post_init__, _Update.__init__

    def completed(self: Strategy) -> None:
        complete(self)
        for name in LEAVES:
            _compare(self, name, 0)
        _compare(self, "prepare_for_update", 1)

    def made(self: _Update, write: Any, make_object: Callable[[Present], Made], *others: Any) -> None:
        make(self, write, leaving_present(make_object), *others)

    Strategy.__post_init__ = completed  # type: ignore[method-assign]  # of all strategies
    _Update.__init__ = made  # type: ignore[assignment,method-assign]  # of all updates


def _compare(strategy: Strategy, name: str, first: int) -> None:
    function = getattr(strategy, name)
    if hasattr(function, _compared) or function is Strategy.__dataclass_fields__[name].default:
        return  # it comes from another strategy, or is that of all strategies
    object.__setattr__(strategy, name, unchanging(function, name, first))


def unchanging(function: Callable[..., Any], name: str, first: int) -> Callable[..., Any]:
    """The function, which fails if it has changed one of its objects; `first` is the place of the first of them."""
    who = f"{name} of {getattr(function, '__module__', '')}"

    @wraps(function)
    def compared(*given: Any) -> Any:
        objects = [each for each in given[first:2] if isinstance(each, dict)]
        before = _written(objects)
        found = function(*given)
        if isinstance(found, Iterator):
            return read(found, objects, before)
        assert _written(objects) == before, f"{who} changes an object in place"
        return found

    def read(found: Iterator[Any], objects: list[Any], before: bytes | str) -> Iterator[Any]:
        yield from found
        assert _written(objects) == before, f"{who} changes an object in place"

    setattr(compared, _compared, True)
    return compared


def leaving_present(make: Callable[[Present], Made]) -> Callable[[Present], Made]:
    """The function, which fails if it has changed the present object."""

    def compared(present: Present) -> Made:
        before = _written(present.obj)
        made = make(present)
        assert _written(present.obj) == before, f"{make} changes the present object in place"
        return made

    return compared


def _written(value: Any) -> bytes | str:
    try:
        return orjson.dumps(value, default=repr)
    except TypeError:  # too deep, or a number or text that orjson does not write
        return repr(value)
