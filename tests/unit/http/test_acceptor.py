"""New connections: without free descriptors the server waits for some; handshakes begin a few at a time."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import ssl
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from gateway.http import acceptor as acceptor_module
from gateway.http.acceptor import Acceptor, ConnectionQuota
from gateway.http.first_bytes import TurnQueue, has_gone
from gateway.http.limits import HttpLimits
from tests.logged import of


class Short(socket.socket):
    """A listening socket whose process has no descriptor for another connection, for a while."""

    failures = 2

    def accept(self) -> Any:
        if self.failures:
            self.failures -= 1
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return super().accept()


@pytest.fixture
def listener() -> Iterator[Short]:
    with Short() as made:
        made.bind(("127.0.0.1", 0))
        yield made


async def test_without_descriptors_it_pauses_and_says_so_once(
    listener: Short, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(acceptor_module, "PAUSE", 0.01)
    admitted = asyncio.Event()
    monkeypatch.setattr(Acceptor, "_admit", lambda self, connection, address: (connection.close(), admitted.set()))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    acceptor = Acceptor(
        listener, context, ConnectionQuota(9, 9), HttpLimits(), lambda *_: pytest.fail("it accepts nothing")
    )
    acceptor.start()
    with socket.create_connection(listener.getsockname()):
        await asyncio.wait_for(admitted.wait(), 30)
    acceptor.close()
    assert listener.failures == 0
    said = [record.getMessage() for record in of(caplog, acceptor_module.__name__)]
    assert said == ["cannot accept connections: Too many open files"]


async def test_handshakes_begin_a_few_a_turn_and_more_where_turns_are_long() -> None:
    loop, begun, now = asyncio.get_running_loop(), list[int](), [0.0]
    timed: Any = SimpleNamespace(time=lambda: now[0], call_soon=loop.call_soon, create_future=loop.create_future)
    turns = TurnQueue(timed, at_once=2, late=0.05, when_late=10)
    turn = 0

    async def shake_hands() -> None:
        await turns.take()
        begun.append(turn)

    crowd = [asyncio.create_task(shake_hands()) for _ in range(24)]
    while len(begun) < len(crowd):
        await asyncio.sleep(0)
        turn += 1
        if turn == 4:
            now[0] += 0.06  # a long turn
    counts = [begun.count(each) for each in sorted(set(begun))]
    assert set(counts[:2]) == {2} and max(counts) == 10, counts


async def test_a_client_that_has_gone_costs_no_handshake() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        client = socket.create_connection(listening.getsockname())
        accepted, _ = listening.accept()
        with accepted:
            client.sendall(b"\x16hello")
            assert not has_gone(accepted)
            client.close()
            async with asyncio.timeout(30):
                while not has_gone(accepted):
                    await asyncio.sleep(0)
            assert accepted.recv(1, socket.MSG_PEEK) == b"\x16"  # what it has sent is there all the same


async def test_a_server_that_stops_refuses_connections(listener: Short) -> None:
    listener.failures = 0
    acceptor = Acceptor(
        listener,
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER),
        ConnectionQuota(9, 9),
        HttpLimits(),
        lambda *_: pytest.fail("it accepts nothing"),
    )
    address = listener.getsockname()
    acceptor.start()
    acceptor.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(address, timeout=30)
