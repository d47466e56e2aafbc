"""Work that takes long: an event loop begins with it and has it done in a thread when it turns out to be such, and a
thread looks now and then whether anybody still waits for it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextvars import ContextVar
from typing import ParamSpec, TypeVar

T = TypeVar("T")
P = ParamSpec("P")

RULES_ON_LOOP = 100_000
"""Units of cost for which the event loop evaluates the CEL rules of one object: about 10 ms; a thread does the rest."""

_ON_LOOP = 0.02  # seconds that an event loop works on one thing which a thread may do instead


class TakesLong(Exception):
    """Raised on an event loop by work that would hold it up, and may be begun anew in a thread."""


class GivenUp(Exception):
    """Raised in a thread by work for which nobody waits any more: the request's deadline has come."""


class _Errand:
    """Whether what a thread does was given up."""

    __slots__ = ("given_up",)

    def __init__(self) -> None:
        self.given_up = False


_errand: ContextVar[_Errand | None] = ContextVar("errand", default=None)
_until: ContextVar[float] = ContextVar("until", default=0.0)
"""When an event loop has worked on something for long enough; 0: it goes on whatever it takes."""


def on_loop() -> bool:
    """Whether an event loop waits for what is done here."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def at_once(work: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
    """What `work` returns or raises on an event loop; TakesLong where it looks when it has taken long."""
    token = _until.set(time.monotonic() + _ON_LOOP)
    try:
        return work(*args, **named)
    finally:
        _until.reset(token)


async def soon_or_in_thread(work: Callable[[], T]) -> T:
    """What `work` returns or raises. Where it turns out to take long, it is begun anew in a thread."""
    try:
        return at_once(work)
    except TakesLong:
        return await in_thread(work)


async def in_thread(work: Callable[[], T]) -> T:
    """What `work` returns or raises in a thread; once nobody waits for it, it is ended where it next looks."""
    errand = _Errand()

    def carried_out() -> T:
        _errand.set(errand)
        _until.set(0.0)
        return work()

    try:
        return await asyncio.to_thread(carried_out)
    finally:
        errand.given_up = True


def look() -> None:
    """To be called every few milliseconds by what may compute for long.

    Raises GivenUp where nobody waits for it, and TakesLong below `at_once`.
    """
    until = _until.get()
    if until and time.monotonic() > until:
        raise TakesLong
    errand = _errand.get()
    if errand is not None and errand.given_up:
        raise GivenUp


def leave_loop() -> None:
    """To be called before a step that takes long and can't be broken. Raises TakesLong below `at_once`."""
    if _until.get():
        raise TakesLong
