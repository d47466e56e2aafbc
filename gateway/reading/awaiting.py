"""Watches wait before what can't be decrypted at present, until the service that it takes answers."""

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
    """Raises AwaitedObject where one of some entries can't be read at present: none is, where nothing is encrypted."""
    if endpoint.database.rereading is not None:
        check_awaited(entries)


async def readable_state(endpoint: Endpoint, page: Page, state: Callable[[], Page], deadline: float) -> Page:
    """A state, where all of it can be read; else what `state` is once that is so. Raises Overrun as below."""
    while True:
        try:
            check_readable(endpoint, page.entries)
        except AwaitedObject:
            await until_readable(endpoint, deadline)
            page = state()
        else:
            return page


async def until_readable(endpoint: Endpoint, deadline: float) -> None:
    """Waits until what is awaited was read again. Raises Overrun at a monotonic time, and where the server stops."""
    rereading, stopping = endpoint.database.rereading, endpoint.services.stopping
    assert rereading is not None  # nothing is awaited where nothing is encrypted
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
