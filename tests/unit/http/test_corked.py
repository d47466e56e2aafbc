"""An answer's head and body leave in one piece where they come in one turn of the loop."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gateway.http.coalescing_transport import Corked

HEAD = b"HTTP/1.1 200 OK\r\n\r\n"


class Wire(asyncio.Transport):
    """What a connection was given to send."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[bytes] = []
        self.closed = False

    def write(self, data: Any) -> None:
        self.sent.append(data)

    def close(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed


async def what_is_scheduled() -> None:
    """Until all has run that was scheduled before."""
    done = asyncio.Event()
    asyncio.get_running_loop().call_soon(done.set)
    await done.wait()


@pytest.fixture
def wire() -> Wire:
    return Wire()


@pytest.fixture
async def corked(wire: Wire) -> Corked:
    return Corked(wire, asyncio.get_running_loop())


async def test_a_head_waits_for_its_body(wire: Wire, corked: Corked) -> None:
    corked.write(HEAD)
    assert wire.sent == []
    corked.write(b"body")
    corked.write(b"more")
    await what_is_scheduled()
    assert wire.sent == [HEAD + b"body", b"more"]


async def test_a_head_without_a_body_leaves_in_the_same_turn(wire: Wire, corked: Corked) -> None:
    """As that of a watch, whose first event may be far away."""
    corked.write(HEAD)
    await what_is_scheduled()
    assert wire.sent == [HEAD]


async def test_a_large_body_is_not_copied(wire: Wire, corked: Corked) -> None:
    body = bytes(1 << 20)
    corked.write(HEAD)
    corked.write(body)
    assert wire.sent == [HEAD, body] and wire.sent[1] is body


async def test_nothing_is_lost_when_the_connection_is_closed(wire: Wire, corked: Corked) -> None:
    corked.write(HEAD)
    corked.close()
    await what_is_scheduled()
    assert (wire.sent, corked.is_closing()) == ([HEAD], True)
