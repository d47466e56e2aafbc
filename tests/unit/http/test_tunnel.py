"""Two joined connections: each gets the other's data, no faster than it reads, until either ends."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.http.tunnel import ClientEnd, join


class Ended(Exception):
    """The connection of an end is broken."""


class End:
    """An end of a tunnel. It sends the given bytes and records what it receives; `takes` blocks writers to it."""

    def __init__(self, *says: bytes, silent: bool = False) -> None:
        self.says, self.silent, self.heard, self.undrained = list(says), silent, b"", 0
        self.takes = asyncio.Event()
        self.takes.set()

    async def read(self) -> bytes:
        await asyncio.sleep(0)
        if self.says:
            return self.says.pop(0)
        if self.silent:
            await asyncio.get_running_loop().create_future()
        return b""

    def write(self, data: bytes) -> None:
        self.heard += data
        self.undrained += 1

    async def drain(self) -> None:
        await self.takes.wait()
        self.undrained = 0


@given(st.lists(st.binary(min_size=1, max_size=9), max_size=5), st.lists(st.binary(min_size=1, max_size=9), max_size=5))
def test_all_that_the_one_says_before_it_ends_reaches_the_other(one: list[bytes], other: list[bytes]) -> None:
    async def run() -> None:
        left, right = End(*one), End(*other, silent=True)
        await join(left, right, 60)
        assert right.heard == b"".join(one)
        assert b"".join(other).startswith(left.heard)

    asyncio.run(run())


async def test_who_does_not_take_is_not_given_more() -> None:
    left, right = End(*[b"x"] * 100, silent=True), End(silent=True)
    right.takes.clear()
    joined = asyncio.create_task(join(left, right, 60))
    for _ in range(1000):
        await asyncio.sleep(0)
    assert right.undrained == 1 and len(left.says) == 99
    right.takes.set()
    while left.says:
        await asyncio.sleep(0)
    joined.cancel()


async def test_a_tunnel_in_which_nothing_moves_ends() -> None:
    await asyncio.wait_for(join(End(silent=True), End(silent=True), 0.01), 30)


async def test_who_is_cancelled_lets_go_of_both() -> None:
    left, right = End(silent=True), End(silent=True)
    joined = asyncio.create_task(join(left, right, 60))
    await asyncio.sleep(0)
    joined.cancel()
    with pytest.raises(asyncio.CancelledError):
        await joined
    assert len(asyncio.all_tasks()) == 1


class Flow:
    write_paused = False

    def __init__(self) -> None:
        self.paused = False

    def pause_reading(self) -> None:
        self.paused = True

    def resume_reading(self) -> None:
        self.paused = False

    async def drain(self) -> None: ...


async def test_a_client_of_which_nobody_reads_waits() -> None:
    flow = Flow()
    end = ClientEnd(asyncio.WriteTransport(), flow)
    for _ in range(5):
        end.take(b"x" * 65536)
    assert flow.paused and len(await end.read()) == 5 * 65536 and not flow.paused


async def test_what_a_client_says_after_the_end_is_dropped_and_it_gets_all() -> None:
    """Unread bytes would reset the connection, and the reset would destroy the data in flight."""
    gone = asyncio.Event()

    class Full(Flow):
        write_paused = True

        async def drain(self) -> None:
            await gone.wait()

    limits = []

    class Transport(asyncio.WriteTransport):
        def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
            limits.append((high, low))

    flow = Full()
    end = ClientEnd(Transport(), flow)
    end.take(b"x" * (1 << 20))
    flushing = end.flush()
    flushing.send(None)
    assert limits == [(1, 0)] and not flow.paused, "nothing is to be left in the buffer, nor unread"
    end.take(b"y" * (1 << 20))
    assert not flow.paused
    gone.set()
    with pytest.raises(StopIteration):
        flushing.send(None)
