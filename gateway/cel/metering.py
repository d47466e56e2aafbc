"""Limits of an evaluation besides its cost: memory for its values, and the size of nested values.

Costs are cel-go's: there, joining two lists costs 1 whatever their length, and comparing two counts the length of the
shorter one, whatever is in them. Here lists are joined at once, so the size of a call's result is measured before it is
made (`growth_of`). Nested values are measured too (`weigh`): a list that has the same list twice, thirty levels deep,
is small in memory but takes for ever to walk through.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gateway.cel.types import Kind, Type
from gateway.cel.values import CostExceeded, Optional
from gateway.time_limits import look

SPACE = 64 << 20  # bytes that one evaluation may make, what is let go of meanwhile too
LOOKS = 5_000_000  # values that it may go through where they are within others
STRIDE = 20_000  # units of cost between looks whether anybody waits for the evaluation
_SLOT, _TEXT, _NUMBER = 8, 50, 36  # bytes of a place in a list, of a short text, of a number
_PRECISE = 1000  # characters that a clause of a format makes at most of a number
_PIECE = 16  # characters that are gone through in the time of a value

# what a frame starts with: cost so far, up to where it may come before `passed` is asked, what was converted, its
# limit, bytes and looks that are left, what nested values weigh
COST, LIMIT, CACHE, MOST, LEFT, LOOKS_LEFT, WEIGHTS, FIRST_VARIABLE = 0, 1, 2, 3, 4, 5, 6, 7
Frame = list[Any]
Measure = Callable[[tuple[Any, ...]], int]


def new_frame(cost: int, limit: int) -> Frame:
    """A frame without variables: `cost` is what the evaluation always costs, `limit` what it may cost."""
    return [cost, min(limit, cost + STRIDE), {}, limit, SPACE, LOOKS, {}]


def passed(frame: Frame) -> int:
    """To be called when the cost has passed what the frame says: up to where it may come now.

    Raises CostExceeded, and GivenUp where nobody waits for the evaluation any more.
    """
    cost, most = frame[COST], frame[MOST]
    if cost > most:
        raise CostExceeded
    look()
    limit: int = min(most, cost + STRIDE)
    frame[LIMIT] = limit
    return limit


def take(frame: Frame, size: int) -> None:
    """Counts bytes that are about to be made. Raises CostExceeded where they are too many."""
    frame[LEFT] -= size
    if frame[LEFT] < 0:
        raise CostExceeded
    if size > 1 << 16:
        look()


def go_through(frame: Frame, values: tuple[Any, ...]) -> None:
    """Counts values that are about to be gone through with all that is in them. Raises CostExceeded."""
    known: dict[int, tuple[int, Any]] = frame[WEIGHTS]
    frame[LOOKS_LEFT] -= sum(weigh(each, known) for each in values)
    if frame[LOOKS_LEFT] < 0:
        raise CostExceeded
    look()


def weigh(value: Any, known: dict[int, tuple[int, Any]]) -> int:
    """How many values are in a value, each as often as it is there; texts by their length.

    `known` are those that were weighed, by identity, which lasts as long as they are kept there.
    """
    kind = type(value)
    if kind is str or kind is bytes:
        return 1 + len(value) // _PIECE
    if kind is Optional:
        return 1 + weigh(value.value, known)
    if not isinstance(value, list | tuple | dict):
        return 1
    found = known.get(id(value))
    if found is None:
        below = value.values() if isinstance(value, dict) else value
        found = known[id(value)] = 1 + sum(weigh(each, known) for each in below), value
    return found[0]


def holds_containers(of: Type) -> bool:
    """Whether values of a type may hold others that hold others."""
    return of.kind in (Kind.DYN, Kind.PARAMETER) or any(
        each.kind not in _SCALARS or holds_containers(each) for each in of.parameters
    )


_SCALARS = {Kind.INT, Kind.UINT, Kind.DOUBLE, Kind.BOOL, Kind.STRING, Kind.BYTES, Kind.TIMESTAMP, Kind.DURATION}


def growth_of(function: str, types: list[Type]) -> Measure | None:
    """What a call would make, in bytes, from its arguments; None where its cost bounds that."""
    if function == "_+_":
        return _joined if any(each.kind in (Kind.LIST, Kind.DYN) for each in types) else None
    return _GROWTH.get(function)


def _joined(values: tuple[Any, ...]) -> int:
    return sum(len(each) for each in values if isinstance(each, list | tuple)) * _SLOT


def _replaced(values: tuple[Any, ...]) -> int:
    text, old, new = values[:3]
    places: int = text.count(old)
    if len(values) > 3 and values[3] >= 0:
        places = min(places, values[3])
    return len(text) + places * max(0, len(new) - len(old))


def _split(values: tuple[Any, ...]) -> int:
    text, separator = values[:2]
    places: int = text.count(separator)
    return len(text) + (places + 1) * (_SLOT + _TEXT)


def _text(values: tuple[Any, ...]) -> int:
    items, separator = values[0], values[1] if len(values) > 1 else ""
    return sum(len(each) + len(separator) for each in items if isinstance(each, str))


def _formatted(values: tuple[Any, ...]) -> int:
    text, arguments = values
    clauses: int = text.count("%")
    return len(text) + clauses * _PRECISE + weigh(arguments, {}) * _PIECE * 2


def _flat(values: tuple[Any, ...]) -> int:
    return weigh(values[0], {}) * _SLOT


_GROWTH: dict[str, Measure] = {
    "replace": _replaced,
    "split": _split,
    "join": _text,
    "format": _formatted,
    "strings.quote": lambda values: 2 * len(values[0]),
    "lists.range": lambda values: max(0, values[0]) * (_SLOT + _NUMBER),
    "flatten": _flat,
    "reverse": lambda values: len(values[0]) * _SLOT,
    "slice": lambda values: max(0, min(values[2], len(values[0])) - max(0, values[1])) * _SLOT,
    "findAll": lambda values: len(values[0]) * _SLOT,
}
