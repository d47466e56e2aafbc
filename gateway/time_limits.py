"""Long computations: the event loop begins one, and has it done again in a thread if it takes too long.

The thread checks now and then whether the caller still waits for the result.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from functools import cache
from heapq import merge
from typing import Any, ParamSpec, TypeVar

T = TypeVar("T")
P = ParamSpec("P")

RULES_ON_LOOP = 100_000
"""Units of cost for which the event loop evaluates the CEL rules of one object: about 10 ms; a thread does the rest."""

_SORTED_AT_ONCE = 10_000  # values that are sorted in one step, of some milliseconds

_ON_LOOP = 0.02  # seconds that the event loop spends on one computation before a thread takes over


class TakesLong(Exception):
    """Raised on the event loop by a computation that would block it; it may be begun anew in a thread."""


class GivenUp(Exception):
    """Raised in a thread by a computation whose caller no longer waits: the request's deadline has passed."""


class _Errand:
    """Whether the caller has given up a thread's computation, and whether that is made apart from others."""

    __slots__ = ("apart", "given_up")

    def __init__(self) -> None:
        self.given_up = self.apart = False


_errand: ContextVar[_Errand | None] = ContextVar("errand", default=None)


class _Turn(threading.local):
    """What a thread computes now: `at_once` never waits, so that nothing else runs in the thread meanwhile."""

    until = 0.0  # the time.monotonic() from which `look` raises TakesLong; 0: never


_turn = _Turn()


def on_loop() -> bool:
    """Whether this code runs on an event loop, which waits for it."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def at_once(work: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
    """Returns or raises what `work` does. Once it has taken too long, its next `look` raises TakesLong."""
    before, _turn.until = _turn.until, time.monotonic() + _ON_LOOP
    try:
        return work(*args, **named)
    finally:
        _turn.until = before


async def soon_or_in_thread(work: Callable[[], T]) -> T:
    """Returns or raises what `work` does. If it takes too long on the event loop, it is begun anew in a thread."""
    try:
        return at_once(work)
    except TakesLong:
        return await in_thread(work)


async def in_thread(work: Callable[[], T]) -> T:
    """Runs `work` in a thread. Once the caller no longer waits, the next `look` in the thread raises GivenUp.

    Work that calls `leave_pool` is begun anew in one of a few threads that only such work uses.
    """
    errand = _Errand()

    def carried_out() -> T:
        _errand.set(errand)
        _turn.until = 0.0
        return work()

    try:
        return await asyncio.to_thread(carried_out)
    except TakesLong:
        errand.apart = True
        return await asyncio.get_running_loop().run_in_executor(_apart(), copy_context().run, carried_out)
    finally:
        errand.given_up = True


def look() -> None:
    """To be called every few milliseconds by code that may compute for long.

    Raises GivenUp if the caller no longer waits, and TakesLong if the time that `at_once` gives is over.
    """
    until = _turn.until
    if until and time.monotonic() > until:
        raise TakesLong
    errand = _errand.get()
    if errand is not None and errand.given_up:
        raise GivenUp


def leave_loop() -> None:
    """To be called before a long step that cannot be interrupted. Raises TakesLong within `at_once`."""
    if _turn.until:
        raise TakesLong


def leave_pool() -> None:
    """To be called before a step that takes so long that a few of them would fill the pool, which all others use, too.

    Raises TakesLong within `in_thread`.
    """
    errand = _errand.get()
    if errand is not None and not errand.apart:
        raise TakesLong


@cache
def _apart() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max(1, (os.cpu_count() or 2) // 2), thread_name_prefix="long")


def sorted_in_pieces(values: Iterable[T], key: Callable[[T], Any] | None = None) -> list[T]:
    """As `sorted`. Other threads run meanwhile if there are many values: `sorted` itself keeps the GIL."""
    items = list(values)
    if len(items) <= _SORTED_AT_ONCE:
        return sorted(items, key=key)  # type: ignore[type-var, arg-type]
    pieces = (items[at : at + _SORTED_AT_ONCE] for at in range(0, len(items), _SORTED_AT_ONCE))
    return list(merge(*(sorted(piece, key=key) for piece in pieces), key=key))  # type: ignore[type-var, arg-type]
