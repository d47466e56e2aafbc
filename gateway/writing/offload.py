"""Runs work on large bodies in a thread, so that it does not block the event loop."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ParamSpec, TypeVar

from gateway.time_limits import TakesLong, at_once, in_thread

BIG = 96 * 1024  # bytes; smaller ones block the loop for a few milliseconds at most

YAML = 16
"""A byte of YAML takes as long to read as this many of JSON."""

WEIGHTS = {"application/yaml": YAML, "application/cbor": 8}
"""The same factor by media type. A single byte of CBOR may be a map, and two bytes a time."""

T = TypeVar("T")
P = ParamSpec("P")


async def offloaded(size: int, work: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
    """Runs `work`, in a thread if `size`, that of its objects in bytes, is large. Returns or raises what `work` does.

    Work that raises TakesLong on the event loop runs again in a thread. There it is ended together with the request.
    """
    if size < BIG:
        try:
            return at_once(work, *args, **named)
        except TakesLong:
            pass
    return await in_thread(partial(work, *args, **named))
