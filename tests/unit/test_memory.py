"""What was freed goes back to the system while the server works."""

from __future__ import annotations

import asyncio

import pytest

from gateway import memory


async def test_the_heap_is_trimmed_after_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "EVERY", 0.0)
    monkeypatch.setattr(memory, "WORK", 0.0)
    loop, trimmed = asyncio.get_running_loop(), asyncio.Event()
    task = asyncio.create_task(memory.keep_trimmed(lambda: loop.call_soon_threadsafe(trimmed.set) and None))
    async with asyncio.timeout(30):
        await trimmed.wait()
    task.cancel()


async def test_who_does_nothing_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = iter(range(100))
    done = asyncio.Event()

    def idle() -> float:
        if next(looks) == 10:
            done.set()
        return 0.5

    monkeypatch.setattr(memory, "EVERY", 0.0)
    monkeypatch.setattr(memory.time, "process_time", idle)
    trims: list[None] = []
    task = asyncio.create_task(memory.keep_trimmed(lambda: trims.append(None)))
    async with asyncio.timeout(30):
        await done.wait()
    task.cancel()
    assert not trims
