"""An answer in one message has the same bytes as the same answer in two messages."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.http.cycle import Cycle
from gateway.http.flow import TransportFlow
from gateway.http.framing import Framing
from gateway.http.messages import POUR, TUNNEL, WHOLE
from gateway.http.upgrade_bytes import Upgrading

_LOG = logging.getLogger(__name__)
Headers = list[tuple[bytes, bytes]]


class Wire:
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        self.writes, self.closed = list[bytes](), False

    def write(self, data: bytes) -> None:
        self.writes.append(data)

    def close(self) -> None:
        self.closed = True

    @property
    def written(self) -> bytes:
        return b"".join(self.writes)

    def nothing(self, *_: object) -> None: ...

    is_closing = abort = pause_reading = resume_reading = get_extra_info = get_write_buffer_size = nothing


class Said:
    """What came of an answer: the bytes, whether the connection was closed, and how often the answer was complete."""

    def __init__(self, method: str, keep_alive: bool) -> None:
        self.wire, self.completed = Wire(), 0
        transport = cast(asyncio.Transport, self.wire)
        self.cycle = Cycle(
            scope=cast(Any, {"type": "http", "method": method}),
            transport=transport,
            flow=TransportFlow(transport),
            logger=_LOG,
            framing=Framing(),
            default_headers=[(b"date", b"Sun, 22 Nov 2026 08:00:00 GMT")],
            expect_100_continue=False,
            keep_alive=keep_alive,
        )
        self.cycle.on_response = self._complete

    def _complete(self) -> None:
        self.completed += 1

    def result(self) -> tuple[bytes, bool, int, bool]:
        return self.wire.written, self.wire.closed, self.completed, self.cycle.response_complete


async def whole(said: Said, status: int, headers: Headers, body: bytes) -> None:
    await said.cycle.send({"type": WHOLE, "status": status, "headers": headers, "body": body})


async def in_two(said: Said, status: int, headers: Headers, body: bytes) -> None:
    await said.cycle.send({"type": "http.response.start", "status": status, "headers": headers})
    await said.cycle.send({"type": "http.response.body", "body": body})


names = st.sampled_from([b"content-type", b"audit-id", b"warning", b"x-kubernetes-pf-flowschema-uid"])
values = st.binary(max_size=40).filter(
    lambda value: not any((byte < 32 and byte != 9) or byte == 127 for byte in value)
)
connection = st.sampled_from([[], [(b"connection", b"close")]])


@given(
    st.sampled_from([200, 201, 404, 409, 500]),
    st.lists(st.tuples(names, values), max_size=4),
    connection,
    st.sampled_from([b"", b"{}", b"x" * (1 << 17)]),
    st.sampled_from(["GET", "POST", "HEAD"]),
    st.booleans(),
)
def test_one_message_says_what_two_say(
    status: int, headers: Headers, connection: Headers, body: bytes, method: str, keep_alive: bool
) -> None:
    headers = [*headers, *connection, (b"content-length", b"%d" % len(body))]

    async def both() -> None:
        one, two = Said(method, keep_alive), Said(method, keep_alive)
        await whole(one, status, headers, body)
        await in_two(two, status, headers, body)
        assert one.result() == two.result()

    asyncio.run(both())


@pytest.mark.parametrize("value", [b"a\r\nset-cookie: b", b"a\nb", b"\x00", b"\x7f"])
async def test_a_header_cannot_end_its_line(value: bytes) -> None:
    said = Said("GET", keep_alive=True)
    with pytest.raises(RuntimeError, match="header value"):
        await whole(said, 200, [(b"warning", value), (b"content-length", b"0")], b"")
    assert said.wire.written == b""


async def test_what_a_client_left_behind_is_not_answered() -> None:
    said = Said("GET", keep_alive=True)
    said.cycle.disconnected = True
    await whole(said, 200, [(b"content-length", b"2")], b"{}")
    assert said.result() == (b"", False, 0, False)


HEAD = {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"4")]}


def part(body: bytes, more: bool = True) -> dict[str, Any]:
    return {"type": "http.response.body", "body": body, "more_body": more}


async def what_is_scheduled() -> None:
    """Waits until the loop has run everything that was scheduled before."""
    done = asyncio.Event()
    asyncio.get_running_loop().call_soon(done.set)
    await done.wait()


async def test_a_head_waits_for_its_body() -> None:
    said = Said("GET", keep_alive=True)
    await said.cycle.send(HEAD)
    assert said.wire.writes == []
    await said.cycle.send(part(b"bo"))
    await said.cycle.send(part(b"dy", more=False))
    await what_is_scheduled()
    assert [each[-2:] for each in said.wire.writes] == [b"bo", b"dy"] and said.wire.writes[0].startswith(
        b"HTTP/1.1 200"
    )


async def test_a_head_without_a_body_leaves_in_the_same_turn() -> None:
    """As that of a watch, whose first event may be far away."""
    said = Said("GET", keep_alive=True)
    await said.cycle.send(HEAD)
    await what_is_scheduled()
    assert len(said.wire.writes) == 1


async def test_a_large_body_is_not_copied_and_written_in_pieces() -> None:
    said, body = Said("GET", keep_alive=True), bytes(range(256)) * 4000
    await said.cycle.send({**HEAD, "headers": [(b"content-length", b"%d" % len(body))]})
    await said.cycle.send(part(body, more=False))
    views: list[Any] = said.wire.writes[1:]
    assert all(each.obj is body for each in views) and b"".join(views) == body
    assert max(map(len, views)) == 1 << 15, "TLS keeps a buffer as large as the largest one"


async def test_what_is_poured_is_framed_like_what_is_sent() -> None:
    sent, poured = Said("GET", keep_alive=True), Said("GET", keep_alive=True)
    sinks: list[Any] = []
    for said in (sent, poured):
        await said.cycle.send({**HEAD, "headers": []})
    await poured.cycle.send({"type": POUR, "take": sinks.append})
    for chunk in (b"one", b"two", b"two"):
        await sent.cycle.send(part(chunk))
        assert sinks[0].pour(chunk)
    for said in (sent, poured):
        await said.cycle.send(part(b"", more=False))
    assert sent.wire.written == poured.wire.written
    assert sent.wire.written.endswith(b"3\r\none\r\n3\r\ntwo\r\n3\r\ntwo\r\n0\r\n\r\n")
    assert not sinks[0].pour(b"late")


@pytest.mark.parametrize(("status", "method"), [(204, "GET"), (304, "GET"), (200, "HEAD")])
async def test_answers_without_a_body_are_not_framed(status: int, method: str) -> None:
    said = Said(method, keep_alive=True)
    await said.cycle.send({**HEAD, "status": status})
    await said.cycle.send(part(b"", more=False))
    assert said.completed == 1 and said.wire.written.endswith(b"\r\ncontent-length: 4\r\n\r\n")


@pytest.mark.parametrize("sent", [[part(b"x")], [HEAD, HEAD], [HEAD, part(b"toolong")], [HEAD, part(b"x", more=False)]])
async def test_messages_out_of_turn_are_refused(sent: list[dict[str, Any]]) -> None:
    said = Said("GET", keep_alive=True)
    with pytest.raises(RuntimeError):
        for message in sent:
            await said.cycle.send(message)


async def test_a_tunnel_carries_what_came_before_and_after_the_switch() -> None:
    said = Said("GET", keep_alive=True)
    upgrading = Upgrading(cast(asyncio.Transport, said.wire), said.cycle.flow)
    said.cycle.switch = upgrading.switch
    upgrading.take(b"early ")
    asked: dict[str, Any] = {"type": TUNNEL}
    await said.cycle.send({"type": "http.response.start", "status": 101, "headers": [(b"connection", b"Upgrade")]})
    await said.cycle.send(asked)
    upgrading.take(b"late")
    assert await asked["client"].read() == b"early late"
    asked["client"].write(b"HTTP/1.1 nothing")
    upgrading.end()
    assert await asked["client"].read() == b""
    await said.cycle.send(part(b"", more=False))
    assert said.wire.written.endswith(b"\r\nconnection: Upgrade\r\n\r\nHTTP/1.1 nothing") and said.wire.closed
    assert b"chunked" not in said.wire.written and b"close" not in said.wire.written


def test_an_application_that_fails_is_answered_for(caplog: pytest.LogCaptureFixture) -> None:
    async def answer(app: Any) -> Said:
        said = Said("GET", keep_alive=True)
        said.cycle.tasks = set()
        said.cycle.task = asyncio.get_running_loop().create_task(said.cycle.run_asgi(app))
        said.cycle.tasks.add(said.cycle.task)
        tasks, task = said.cycle.tasks, said.cycle.task
        await task
        assert not tasks and not hasattr(said.cycle, "task")
        return said

    async def failing(*_: object) -> None:
        raise ValueError("a fault")

    async def silent(*_: object) -> None:
        return None

    failed = asyncio.run(answer(failing))
    assert failed.wire.written.startswith(b"HTTP/1.1 500 Internal Server Error\r\n") and failed.wire.closed
    assert "Exception in ASGI application" in caplog.text and "a fault" in caplog.text
    assert asyncio.run(answer(silent)).wire.closed
    assert "ASGI callable returned without completing response." in caplog.text


def test_first_lines_are_those_of_the_second_and_of_the_answer() -> None:
    framing, more = Framing(), ((b"content-type", b"a/b"),)
    one, two = [(b"date", b"1")], [(b"date", b"2")]
    assert framing.first_lines(200, one, more) == b"HTTP/1.1 200 OK\r\ndate: 1\r\ncontent-type: a/b\r\n"
    assert framing.first_lines(200, one, more) is framing.first_lines(200, one, more)
    assert framing.first_lines(404, one, more) == b"HTTP/1.1 404 Not Found\r\ndate: 1\r\ncontent-type: a/b\r\n"
    assert framing.first_lines(200, two, more) == b"HTTP/1.1 200 OK\r\ndate: 2\r\ncontent-type: a/b\r\n"
    with pytest.raises(ValueError, match="Invalid HTTP header value"):
        framing.first_lines(200, one, ((b"content-type", b"a\r\nb: c"),))
