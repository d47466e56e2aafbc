"""What comes in very small chunks is parsed in several turns of the event loop, and nothing of it is lost."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gateway.outbound import connection
from gateway.outbound.connection import OutboundConnection
from gateway.outbound.errors import CallError
from storage.time_slice import TimeSlice

HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
CHUNKS = 20_000
BODY = b"".join(b"1\r\n%c\r\n" % (97 + number % 26) for number in range(CHUNKS))
TEXT = bytes(97 + number % 26 for number in range(CHUNKS))


class Transport(asyncio.Transport):
    """Notes whether reading pauses."""

    def __init__(self) -> None:
        super().__init__()
        self.paused = self.aborted = False

    def write(self, data: Any) -> None:
        """Sends nothing."""

    def pause_reading(self) -> None:
        assert not self.paused
        self.paused = True

    def resume_reading(self) -> None:
        assert self.paused
        self.paused = False

    def abort(self) -> None:
        self.aborted = True


@pytest.fixture
def transport(monkeypatch: pytest.MonkeyPatch) -> Transport:
    """A transport of a machine on which each piece takes long."""
    monkeypatch.setattr(TimeSlice, "over", lambda self: True)
    return Transport()


async def begun(transport: Transport) -> OutboundConnection:
    made = OutboundConnection()
    made.connection_made(transport)
    made.begin("GET", b"")
    return made


async def whole(made: OutboundConnection) -> bytes:
    found = bytearray()
    while part := await made.read():
        found += part
    return bytes(found)


async def test_one_turn_parses_a_piece_and_reading_pauses_meanwhile(transport: Transport) -> None:
    made = await begun(transport)
    made.data_received(HEAD + BODY)
    assert transport.paused and (await made.head()).status == 200
    first = await made.read()
    assert 0 < len(first) < connection._PIECE // 5
    made.data_received(b"0\r\n\r\n")  # it was on its way when reading paused
    assert first + await whole(made) == TEXT
    assert not transport.paused and made.keepable


async def test_the_end_of_the_connection_waits_for_what_came_before_it(transport: Transport) -> None:
    made = await begun(transport)
    made.data_received(HEAD + BODY + b"0\r\n\r\n")
    assert made.eof_received() is False
    made.connection_lost(None)
    assert await whole(made) == TEXT
    assert made.lost and not made.keepable


async def test_a_cut_answer_is_cut_after_what_came(transport: Transport) -> None:
    made = await begun(transport)
    made.data_received(HEAD + BODY)
    made.connection_lost(ConnectionResetError())
    found = bytearray()
    with pytest.raises(CallError):
        while part := await made.read():
            found += part
    assert TEXT.startswith(bytes(found))


async def test_whoever_closes_parses_no_more(transport: Transport) -> None:
    made = await begun(transport)
    made.data_received(HEAD + BODY)
    made.close()
    assert transport.aborted and made._rest == b""
    made.connection_lost(None)
    assert made.lost
