"""An answer in one message is on the wire what the same answer in two messages is."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from uvicorn.protocols.http.flow_control import FlowControl

from gateway.http.coalescing_transport import Corked
from gateway.http.cycle import WHOLE, Cycle

_LOG = logging.getLogger(__name__)
Headers = list[tuple[bytes, bytes]]


class Wire:
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        self.written, self.closed = b"", False

    def write(self, data: bytes) -> None:
        self.written += data

    def close(self) -> None:
        self.closed = True

    def nothing(self, *_: object) -> None: ...

    is_closing = abort = pause_reading = resume_reading = get_extra_info = get_write_buffer_size = nothing


class Said:
    """What came of an answer: the bytes, whether the connection was closed, and how often the answer was complete."""

    def __init__(self, method: str, keep_alive: bool) -> None:
        self.wire, self.completed = Wire(), 0
        transport = Corked(cast(asyncio.Transport, self.wire), asyncio.get_running_loop())
        self.cycle = Cycle(
            scope=cast(Any, {"type": "http", "method": method}),
            transport=cast(asyncio.Transport, transport),
            flow=FlowControl(cast(asyncio.Transport, transport)),
            logger=_LOG,
            access_logger=_LOG,
            access_log=False,
            default_headers=[(b"date", b"Sun, 22 Nov 2026 08:00:00 GMT")],
            message_event=asyncio.Event(),
            expect_100_continue=False,
            keep_alive=keep_alive,
            on_response=self._complete,
        )

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
