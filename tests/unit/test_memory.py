"""Freed memory is returned to the system while the server works."""

from __future__ import annotations

import asyncio
import subprocess
import sys

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


def test_no_collection_looks_again_at_what_was_in_use() -> None:
    program = """
import gc, weakref
from gateway.memory import settle_collector
class Circle: pass
def circle():
    made = Circle()
    made.itself = made
    return weakref.ref(made)
looked_at = []
gc.callbacks.append(lambda phase, info: looked_at.append(len(gc.get_objects())) if phase == "start" else None)
settle_collector()
garbage = circle()
kept = [[] for _ in range(600_000)]
print(len(kept), max(looked_at), garbage() is None)
"""
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    kept, most, collected = said.stdout.split()
    assert int(most) < 20_000 < int(kept), "what a collection has found in use is left out of the next ones"
    assert collected == "True"


def test_a_heap_profile_has_what_collections_leave_out() -> None:
    """This test has its own process, because the exclusion of objects from collections would affect later tests."""
    code = (
        "import gc\nfrom gateway.operations.profiles import heap\n"
        "class Kept: pass\n"
        "kept = [Kept() for _ in range(100)]\n"
        "gc.freeze()\nbefore = gc.get_freeze_count()\n"
        "text = heap().decode()\n"
        "assert gc.get_freeze_count() >= before and gc.isenabled()\n"
        "print(next(line.split()[1] for line in text.splitlines() if line.endswith('Kept')))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "100\n"
