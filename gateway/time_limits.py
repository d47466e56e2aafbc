"""Work that takes long: an event loop begins with it and has it done in a thread when it turns out to be such, and a
thread looks now and then whether anybody still waits for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")

RULES_ON_LOOP = 100_000
"""Units of cost for which the event loop evaluates the CEL rules of one object: about 10 ms; a thread does the rest."""


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


def on_loop() -> bool:
    """Whether an event loop waits for what is done here."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


async def in_thread(work: Callable[[], T]) -> T:
    """What `work` returns or raises in a thread; once nobody waits for it, it is ended where it next looks."""
    errand = _Errand()

    def carried_out() -> T:
        _errand.set(errand)
        return work()

    try:
        return await asyncio.to_thread(carried_out)
    finally:
        errand.given_up = True


def look() -> None:
    """To be called every few milliseconds by what may compute for long. Raises GivenUp where nobody waits for it."""
    errand = _errand.get()
    if errand is not None and errand.given_up:
        raise GivenUp
