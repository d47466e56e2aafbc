"""The event loop's lag: noticed, told with what holds it, counted."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from gateway.observability.watchdog import _HELD, BEAT, LIMIT, Watchdog, keep_watch

LONG = 2 * LIMIT


def compute(seconds: float) -> None:
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def compute_at_one_go() -> None:
    """Holds the interpreter: no other thread has a turn meanwhile."""
    began, digits = time.thread_time(), 40_000
    while time.thread_time() - began < 3 * LIMIT:
        began, digits = time.thread_time(), 2 * digits
        pow(3, digits)


@asynccontextmanager
async def watched() -> AsyncIterator[None]:
    started = asyncio.Event()
    started.set()
    watching = asyncio.create_task(keep_watch(started))
    await asyncio.sleep(2 * BEAT)
    yield
    await asyncio.sleep(2 * BEAT)
    watching.cancel()


async def test_what_holds_the_loop_is_told_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    before = _HELD.value
    async with watched():
        compute(LONG)
    (record,) = caplog.records
    assert record.levelno == logging.WARNING and "compute" in record.__dict__["where"]
    assert record.__dict__["seconds"] > LIMIT and _HELD.value == before + 1


async def test_a_thread_that_keeps_the_interpreter_to_itself(caplog: pytest.LogCaptureFixture) -> None:
    async with watched():
        await asyncio.to_thread(compute_at_one_go)
    assert any("compute_at_one_go" in record.__dict__["where"] for record in caplog.records)


async def test_waiting_holds_nothing(caplog: pytest.LogCaptureFixture) -> None:
    async with watched():
        await asyncio.sleep(LONG)
        time.sleep(LONG)  # noqa: ASYNC251  # as in a process that was stopped, which does not compute
    assert not caplog.records


async def test_a_core_that_the_kernel_withholds_is_no_fault(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another thread of the process may compute meanwhile."""
    withheld = 0.0
    monkeypatch.setattr(Watchdog, "_withheld", lambda _: withheld)
    async with watched():
        began = time.monotonic()
        compute(LONG)
        withheld = time.monotonic() - began
    assert not caplog.records
