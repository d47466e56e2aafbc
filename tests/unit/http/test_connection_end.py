"""A closed connection is dropped once its client has read what was written, and not much later."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import cast

import pytest
import uvloop

from gateway.credentials.certificates import ensure_certificates, server_context
from gateway.http import connection_end
from gateway.http.connection_end import Departures

MUCH = 8 << 20  # more than the sockets of both ends take
LITTLE = 500_000  # what they take


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_end, "FAREWELL", 0.0)
    monkeypatch.setattr(connection_end, "_AT_STOP", 0.0)


@pytest.fixture
def contexts(tmp_path: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Those of the server and of its client."""
    files = ensure_certificates(tmp_path, ["127.0.0.1"])
    return server_context(files.certificate, files.key), ssl.create_default_context(cafile=str(files.ca))


@contextmanager
def closing(contexts: tuple[ssl.SSLContext, ssl.SSLContext], size: int, **how: bool) -> Iterator[ssl.SSLSocket]:
    """The client of a server that says so much and closes; it has looked at the connection twice since."""
    looked, listens, stop = threading.Event(), threading.Event(), asyncio.Event()
    port: list[int] = []
    loops: list[asyncio.AbstractEventLoop] = []

    class Closing(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            loop, transport = asyncio.get_running_loop(), cast(asyncio.Transport, transport)
            transport.write(b"x" * size)
            transport.close()
            connection_end.end_soon(loop, transport, **{"stopping": False, **how})
            loop.call_later(0, loop.call_later, 0, looked.set)

    async def serve() -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(Closing, "127.0.0.1", 0, ssl=contexts[0])
        port.append(server.sockets[0].getsockname()[1])
        loops.append(loop)
        listens.set()
        await stop.wait()
        server.close()

    thread = threading.Thread(target=lambda: uvloop.run(serve()))
    thread.start()
    assert listens.wait(60)
    try:
        with contexts[1].wrap_socket(
            socket.create_connection(("127.0.0.1", port[0]), 60), server_hostname="127.0.0.1"
        ) as client:
            assert looked.wait(60)
            yield client
    finally:
        loops[0].call_soon_threadsafe(stop.set)
        thread.join(60)


async def test_what_the_loop_is_about_to_send_is_not_lost() -> None:
    """A client may have emptied the socket's queue while the server had no core."""
    sizes, over = [0, LITTLE, 0, 0], asyncio.Event()

    class Unsent(asyncio.Transport):
        def is_closing(self) -> bool:
            return True

        def get_write_buffer_size(self) -> int:
            return sizes.pop(0)

        def abort(self) -> None:
            over.set()

    connection_end.end_soon(asyncio.get_running_loop(), Unsent(), stopping=False)
    async with asyncio.timeout(60):
        await over.wait()
    assert sizes == []


def received(client: ssl.SSLSocket, meanwhile: Callable[[], object] = lambda: None) -> int:
    size = 0
    while data := client.recv(65536):
        size += len(data)
        meanwhile()
    return size


def test_a_client_that_reads_late_gets_all(contexts: tuple[ssl.SSLContext, ssl.SSLContext]) -> None:
    with closing(contexts, MUCH) as client:
        assert received(client) == MUCH


def test_a_tunnels_client_may_speak_after_its_end(contexts: tuple[ssl.SSLContext, ssl.SSLContext]) -> None:
    """The whole answer is sent but not read yet, so a reset of the connection would destroy it."""
    with closing(contexts, LITTLE, tunnel=True) as client:
        assert received(client, lambda: client.sendall(b"late")) == LITTLE


def test_a_server_that_stops_waits_for_nobody_for_long(contexts: tuple[ssl.SSLContext, ssl.SSLContext]) -> None:
    with closing(contexts, MUCH, stopping=True, tunnel=True) as client:
        assert received(client) < MUCH


class Answer:
    """The answer of a lost connection."""

    def __init__(self, said: list[str], name: int) -> None:
        self._said, self._name = said, name

    def lose(self) -> None:
        self._said.append(f"lost {self._name}")

    def leave(self) -> None:
        self._said.append(f"left {self._name}")


def test_lost_connections_end_few_answers_in_a_turn_and_in_order() -> None:
    async def run() -> tuple[list[str], list[int]]:
        departures, said, counts = Departures(), list[str](), [0]
        for name in range(count):
            departures.end(Answer(said, name), lambda: None)
        assert [each for each in said if each.startswith("lost")] == [f"lost {name}" for name in range(count)]
        while counts[-1] < count:
            counts.append(sum(each.startswith("left") for each in said))
            await asyncio.sleep(0)
        return said, counts

    count = 5 * Departures.MOST + 1
    said, counts = asyncio.run(run())
    assert [each for each in said if each.startswith("left")] == [f"left {name}" for name in range(count)]
    assert max(after - before for before, after in pairwise(counts)) == Departures.MOST


def test_a_lost_connection_ends_its_answer_at_once_if_no_others_are_lost() -> None:
    async def run() -> list[str]:
        departures, said = Departures(), list[str]()
        for name in range(3):
            departures.end(Answer(said, name), partial(said.append, "told"))
            said.append("next")
            for _ in range(3):
                await asyncio.sleep(0)
        departures.end(None, partial(said.append, "told"))
        return said

    one = [[f"lost {name}", "told", f"left {name}", "next"] for name in range(3)]
    assert asyncio.run(run()) == [*one[0], *one[1], *one[2], "told"]


def test_an_error_at_one_end_leaves_no_answer_waiting() -> None:
    async def run() -> tuple[list[str], list[str]]:
        departures, said, errors = Departures(), list[str](), list[str]()
        asyncio.get_running_loop().set_exception_handler(lambda _, context: errors.append(str(context["exception"])))
        for name in range(count):
            departures.end(Answer(said, name), fail if name == Departures.MOST + 1 else lambda: None)
        for _ in range(count):
            await asyncio.sleep(0)
        departures.end(Answer(said, count), lambda: None)
        return said, errors

    def fail() -> None:
        raise RuntimeError("told")

    count = 3 * Departures.MOST
    said, errors = asyncio.run(run())
    assert [each for each in said if each.startswith("left")] == [f"left {name}" for name in range(count + 1)]
    assert errors == ["told"]
