"""Which endpoint follows one that is left."""

from __future__ import annotations

import asyncio
from typing import cast

import grpc.aio
import pytest
from grpc import ChannelConnectivity

from storage.etcd.connections import Connections

READY, FAILED = ChannelConnectivity.READY, ChannelConnectivity.TRANSIENT_FAILURE
IDLE, CONNECTING = ChannelConnectivity.IDLE, ChannelConnectivity.CONNECTING


class Channel:
    """A channel whose state a test sets."""

    def __init__(self, state: ChannelConnectivity) -> None:
        self.state, self.changed = state, asyncio.Event()

    def get_state(self, try_to_connect: bool = False) -> ChannelConnectivity:
        return self.state

    async def wait_for_state_change(self, last: ChannelConnectivity) -> None:
        while self.state is last:
            self.changed.clear()
            await self.changed.wait()

    def turn(self, state: ChannelConnectivity) -> None:
        self.state = state
        self.changed.set()


class Endpoint:
    """An endpoint with such a channel."""

    def __init__(self, state: ChannelConnectivity) -> None:
        self.own = Channel(state)

    @property
    def channel(self) -> grpc.aio.Channel:
        return cast(grpc.aio.Channel, self.own)


@pytest.mark.parametrize(
    ("states", "left", "following"),
    [
        ([READY, READY, READY], 0, 1),
        ([READY, READY, READY], 2, 0),
        ([READY, FAILED, READY], 0, 2),
        ([READY, READY, FAILED], 1, 0),
        ([READY, FAILED, FAILED], 0, 1),
        ([READY, FAILED], 0, 1),
        ([READY], 0, 0),
    ],
)
async def test_the_next_one_that_is_connected_follows(
    states: list[ChannelConnectivity], left: int, following: int
) -> None:
    endpoints = [Endpoint(state) for state in states]
    assert Connections(endpoints, lambda: None).next(endpoints[left]) is endpoints[following]


async def test_lost_and_new_connections_are_told() -> None:
    endpoints, told = [Endpoint(READY), Endpoint(READY)], asyncio.Semaphore(0)
    connections = Connections(endpoints, told.release)
    connections.keep()
    await asyncio.sleep(0)
    for state in (FAILED, READY):
        endpoints[1].own.turn(state)
        async with asyncio.timeout(60):
            await told.acquire()
    await connections.close()


async def test_a_failure_is_logged_and_the_connection_followed_on(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storage.etcd.connections._PAUSE", 0)
    failures, told = iter([True]), asyncio.Semaphore(0)

    def changed() -> None:
        if next(failures, False):
            raise ValueError
        told.release()

    endpoints = [Endpoint(READY), Endpoint(READY)]
    connections = Connections(endpoints, changed)
    connections.keep()
    await asyncio.sleep(0)
    async with asyncio.timeout(60):
        endpoints[0].own.turn(FAILED)
        while not caplog.records:
            await asyncio.sleep(0)
        while told.locked():
            endpoints[0].own.turn(FAILED if endpoints[0].own.state is READY else READY)
            await asyncio.sleep(0)
    await connections.close()
    assert "could not follow the connection to an etcd member" in caplog.text


@pytest.mark.parametrize("before", [READY, CONNECTING])
async def test_a_connection_that_is_lost_at_once_is_made_again_after_a_pause(
    before: ChannelConnectivity, monkeypatch: pytest.MonkeyPatch
) -> None:
    paused = asyncio.Event()

    async def sleep(seconds: float) -> None:
        paused.set()
        await asyncio.Event().wait()

    endpoints = [Endpoint(CONNECTING), Endpoint(READY)]
    connections = Connections(endpoints, lambda: None)
    connections.keep()
    await asyncio.sleep(0)
    endpoints[0].own.turn(before)
    for _ in range(3):
        await asyncio.sleep(0)
    monkeypatch.setattr("storage.etcd.connections.asyncio.sleep", sleep)
    endpoints[0].own.turn(IDLE)
    async with asyncio.timeout(60):
        await paused.wait()
    await connections.close()
