"""The event loop's lag is noticed, counted, and logged with the code that blocks it."""

from __future__ import annotations

import asyncio
import gc
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from gateway.observability import watchdog
from gateway.observability.watchdog import _HELD, BEAT, LIMIT, Watchdog, keep_watch
from tests.logged import of

LONG = 2 * LIMIT


def compute(seconds: float) -> None:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def compute_at_one_go() -> None:
    """Blocks the interpreter: no other thread can run meanwhile."""
    began, digits = time.thread_time(), 40_000
    while time.thread_time() - began < 3 * LIMIT:
        began, digits = time.thread_time(), 2 * digits
        pow(3, digits)


@asynccontextmanager
async def watched() -> AsyncIterator[None]:
    """Runs the watchdog inside the block. Garbage collection, which would block the loop too, is off."""
    started = asyncio.Event()
    started.set()
    gc.disable()
    watching = asyncio.create_task(keep_watch(started))
    try:
        await asyncio.sleep(2 * BEAT)
        yield
        await asyncio.sleep(2 * BEAT)
    finally:
        watching.cancel()
        gc.enable()


async def test_what_holds_the_loop_is_told_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    before = _HELD.value
    async with watched():
        compute(LONG)
    (record,) = of(caplog, watchdog.__name__)
    assert record.levelno == logging.WARNING and "compute" in record.__dict__["where"]
    assert record.__dict__["seconds"] > LIMIT and _HELD.value == before + 1


async def test_a_thread_that_keeps_the_interpreter_to_itself(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Watchdog, "_withheld", lambda _: 0.0)  # that the loop asks for its turn takes a core, too
    async with watched():
        await asyncio.to_thread(compute_at_one_go)
    assert any("compute_at_one_go" in record.__dict__["where"] for record in of(caplog, watchdog.__name__))


async def test_waiting_holds_nothing(caplog: pytest.LogCaptureFixture) -> None:
    async with watched():
        await asyncio.sleep(LONG)
        time.sleep(LONG)  # noqa: ASYNC251  # as in a process that was stopped, which does not compute
    assert not of(caplog, watchdog.__name__)


async def test_where_a_process_was_before_it_was_stopped_is_not_told(caplog: pytest.LogCaptureFixture) -> None:
    async with watched():
        time.sleep(LONG)  # noqa: ASYNC251  # as in a process that was stopped
        compute(LONG)
    (record,) = of(caplog, watchdog.__name__)
    assert "compute" in record.__dict__["where"]


async def test_a_core_that_the_kernel_withholds_is_no_fault(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another thread of the process may compute meanwhile."""
    withheld, began = 0.0, time.monotonic()
    monkeypatch.setattr(Watchdog, "_withheld", lambda _: withheld)
    async with watched():
        compute(LONG)
        withheld = time.monotonic() - began
    assert not of(caplog, watchdog.__name__)
