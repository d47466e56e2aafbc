"""Lets watches wait for objects that cannot be decrypted now, until the KMS plugin answers again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable

from gateway.endpoints.endpoint import Endpoint
from storage.entry import Entry, check_awaited
from storage.errors import AwaitedObject
from storage.history import Overrun
from storage.reads import Page


def check_readable(endpoint: Endpoint, entries: Iterable[Entry]) -> None:
    """Raises AwaitedObject if one of the entries cannot be decrypted now. Without encryption there are none."""
    if endpoint.database.rereading is not None:
        check_awaited(entries)


async def readable_state(endpoint: Endpoint, page: Page, state: Callable[[], Page], deadline: float) -> Page:
    """Waits until all objects of a state can be decrypted. Returns `page`, or after a wait a new result of `state`.

    Raises Overrun as `until_readable`.
    """
    while True:
        try:
            check_readable(endpoint, page.entries)
        except AwaitedObject:
            await until_readable(endpoint, deadline)
            page = state()
        else:
            return page


async def until_readable(endpoint: Endpoint, deadline: float) -> None:
    """Waits until the objects that could not be decrypted were read again.

    Raises Overrun at `deadline`, a time of the monotonic clock, and when the server stops.
    """
    rereading, stopping = endpoint.database.rereading, endpoint.services.stopping
    assert rereading is not None  # AwaitedObject is raised only if encryption is configured
    read = asyncio.ensure_future(rereading.after(rereading.passes))
    stop = asyncio.ensure_future(stopping.wait())
    try:
        seconds = max(0.0, deadline - time.monotonic())
        await asyncio.wait((read, stop), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        read.cancel()
        stop.cancel()
    if stopping.is_set() or endpoint.ended or time.monotonic() >= deadline:
        raise Overrun
