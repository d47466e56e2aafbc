"""A worker's end of the connection to the feeder: when it reads, and when it ends."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator

import pytest

from storage.sharing import shared_watch
from storage.sharing.records import DELETED, PacketType, packets, record
from storage.sharing.shared_watch import FeederLost, SharedWatch
from storage.watch_cache import WatchCache
from tests.unit.storage.canonical import ROOT, key

MOST = 4


@pytest.fixture
async def feeder(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[socket.socket, SharedWatch]]:
    """The feeder's end and the worker's."""
    monkeypatch.setattr(shared_watch, "BUFFERED", MOST)
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    watch = SharedWatch(there, WatchCache(ROOT), lambda: 0)
    yield here, watch
    await watch.cancel()
    here.close()


def send(feeder: socket.socket, revision: int, changes: int) -> None:
    """Sends the changes of a revision in one packet."""
    records = [record(key("n", f"o{number}"), DELETED, 0, 0, 0, revision) for number in range(changes)]
    (packet,) = packets(PacketType.CHANGES, revision, records)
    feeder.send(packet)


async def reads(watch: SharedWatch, changes: int) -> None:
    async with asyncio.timeout(60):
        while watch._buffered < changes:
            await asyncio.sleep(0)


async def test_who_has_much_to_do_reads_no_more_until_half_of_it_is_done(
    feeder: tuple[socket.socket, SharedWatch],
) -> None:
    """The feeder then keeps what is not read, and gives up who never reads."""
    here, watch = feeder
    for revision, changes in ((1, 3), (2, 2)):
        send(here, revision, changes)
    await reads(watch, MOST + 1)
    send(here, 3, 1)
    for _ in range(10):  # turns of the event loop
        await asyncio.sleep(0)
    assert (watch._buffered, (await anext(watch)).revision) == (MOST + 1, 1)
    assert (watch._buffered, (await anext(watch)).revision) == (2, 2)
    async with asyncio.timeout(60):
        assert (await anext(watch)).revision == 3


async def test_what_came_before_the_end_is_handed_out_before_it(feeder: tuple[socket.socket, SharedWatch]) -> None:
    here, watch = feeder
    for revision in (1, 2):
        send(here, revision, 3)
    await reads(watch, MOST + 1)
    watch.fail(FeederLost("gone"))
    assert [(await anext(watch)).revision for _ in range(2)] == [1, 2]
    with pytest.raises(FeederLost, match="gone"):
        await anext(watch)


async def test_what_the_cache_has_is_left_out_but_progress_is_told(feeder: tuple[socket.socket, SharedWatch]) -> None:
    """The process has put its own writes into the cache. A reader may wait for progress without any change."""
    here, watch = feeder
    watch._cache.reached = 5
    for revision, changes in ((4, 2), (5, 0), (5, 1), (6, 1)):
        send(here, revision, changes)
    async with asyncio.timeout(60):
        found = [await anext(watch) for _ in range(2)]
    assert [(each.revision, len(each.events)) for each in found] == [(5, 0), (6, 1)]
