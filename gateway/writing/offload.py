"""Work on big bodies in a thread, where the event loop can take its turns between the steps."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ParamSpec, TypeVar

from gateway.time_limits import in_thread, soon_or_in_thread

BIG = 96 * 1024  # bytes; below, a write holds the loop for a few milliseconds at most

YAML = 16
"""A byte of YAML takes as long to read as this many of JSON."""

WEIGHTS = {"application/yaml": YAML, "application/cbor": 8}
"""The same by the media types of bodies. A byte of CBOR may be a map, and two of them a time."""

T = TypeVar("T")
P = ParamSpec("P")


async def offloaded(size: int, work: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
    """What `work` returns or raises; `size` is that of the objects which it goes through.

    Work that raises TakesLong is done once more, in a thread, where it ends when the request does.
    """
    done = partial(work, *args, **named)
    return await (soon_or_in_thread(done) if size < BIG else in_thread(done))
