"""Limits of an evaluation besides its cost: memory for its values, and the size of nested values.

cel-go's costs do not bound memory and time here. Joining two lists costs 1, because cel-go does not copy them; here
they are copied. So the size of a call's result is computed before the call (`growth_of`). Comparing two lists costs by
the length of the shorter one, whatever their elements are. But a list that has the same list twice, thirty levels deep,
is small in memory and takes very long to read. So nested values are counted too (`weigh`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gateway.cel.types import CelType, Kind
from gateway.cel.values import CostExceeded, Optional
from gateway.time_limits import leave_loop, look

SPACE = 64 << 20  # bytes that one evaluation may allocate, including bytes that it frees again
LOOKS = 5_000_000  # nested values that one evaluation may read
STRIDE = 20_000  # units of cost between two checks whether the request still waits for the result
_LONG = 200_000  # characters that one call reads, of up to 25 ms: they are read in a thread
_LARGE = 1 << 20  # bytes of a result, which take as long
_SLOT, _TEXT, _NUMBER = 8, 50, 36  # bytes of a list's slot, of a short string, of a number
_PRECISE = 1000  # the greatest number of characters of a formatted number
_SHORT = 1000  # characters of a text that are not counted
_PIECE = 16  # characters that count as one value, by the time to read them

# the first items of a frame: the cost so far; the cost at which `passed` must be called; the cache of converted values;
# the cost limit; the bytes left; the nested values left; the known weights of nested values
COST, LIMIT, CACHE, MOST, LEFT, LOOKS_LEFT, WEIGHTS, FIRST_VARIABLE = 0, 1, 2, 3, 4, 5, 6, 7
Frame = list[Any]
Measure = Callable[[tuple[Any, ...]], int]


def new_frame(cost: int, limit: int) -> Frame:
    """A frame without variables. `cost` is the fixed cost of the evaluation, `limit` its cost limit."""
    return [cost, min(limit, cost + STRIDE), {}, limit, SPACE, LOOKS, {}]


def passed(frame: Frame) -> int:
    """To be called when the cost exceeds `frame[LIMIT]`. Sets and returns the next such cost.

    Raises CostExceeded. Raises GivenUp if the request does not wait for the result any more, and TakesLong as
    `leave_loop` if the call to come reads a long text.
    """
    cost, most = frame[COST], frame[MOST]
    if cost > most:
        raise CostExceeded
    if cost - frame[LIMIT] > STRIDE // 4:
        leave_loop()
    look()
    limit: int = min(most, cost + STRIDE)
    frame[LIMIT] = limit
    return limit


def take(frame: Frame, size: int) -> None:
    """Counts bytes before they are allocated. Raises CostExceeded if they are too many."""
    frame[LEFT] -= size
    if frame[LEFT] < 0:
        raise CostExceeded
    if size > 1 << 16:
        if size > _LARGE:
            leave_loop()
        look()


def go_through(frame: Frame, values: tuple[Any, ...]) -> None:
    """Counts values, and all values in them, before they are read. Raises CostExceeded if they are too many."""
    known: dict[int, tuple[int, Any]] = frame[WEIGHTS]
    frame[LOOKS_LEFT] -= sum(weigh(each, known) for each in values)
    if frame[LOOKS_LEFT] < 0:
        raise CostExceeded
    look()


def read(frame: Frame, values: tuple[Any, ...]) -> None:
    """Counts the texts that a call of a fixed cost reads. Raises CostExceeded if they are too many.

    cel-go charges 1 for isURL, whatever its length. Raises TakesLong for a long text, as `leave_loop`.
    """
    for each in values:
        if type(each) in (str, bytes) and len(each) > _SHORT:
            frame[LOOKS_LEFT] -= len(each) // _PIECE
            if frame[LOOKS_LEFT] < 0:
                raise CostExceeded
            if len(each) > _LONG:
                leave_loop()
            look()


def weigh(value: Any, known: dict[int, tuple[int, Any]]) -> int:
    """The number of values in a value, with repetitions. A string counts by its length.

    `known` has the weights of lists and maps by `id`, and the values themselves, so that no id is used again.
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


def holds_containers(of: CelType) -> bool:
    """Whether values of a type may have lists or maps in them."""
    return of.kind in (Kind.DYN, Kind.PARAMETER) or any(
        each.kind not in _SCALARS or holds_containers(each) for each in of.parameters
    )


_SCALARS = {Kind.INT, Kind.UINT, Kind.DOUBLE, Kind.BOOL, Kind.STRING, Kind.BYTES, Kind.TIMESTAMP, Kind.DURATION}


def growth_of(function: str, types: list[CelType]) -> Measure | None:
    """A function that computes the bytes of a call's result from its arguments. None if the cost bounds them."""
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
