"""Requests are read lazily and bodies within limits; warnings and durations have Go's forms."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pytest

from gateway.http import exchange
from gateway.http.cycle import AT_ONCE
from gateway.http.deadline import InvalidDuration, parse_duration, request_timeout
from gateway.http.exchange import ClientDisconnected, Request, audit_id, parse_query
from gateway.http.send import PIECE, pieces
from gateway.http.status import StatusError
from gateway.http.warnings import warning_headers


def request_of(*messages: Mapping[str, Any]) -> Request:
    pending = list(messages)

    async def receive() -> Mapping[str, Any]:
        return pending.pop(0)

    return Request("POST", "/", b"", {}, receive)


def part(body: bytes, more: bool = False) -> Mapping[str, Any]:
    return {"type": "http.request", "body": body, "more_body": more}


async def test_a_body_is_joined_and_kept() -> None:
    request = request_of(part(b"ab", True), part(b"c"))
    assert await request.body() == b"abc"
    assert await request.body() == b"abc"


async def test_a_body_over_the_limit_is_refused() -> None:
    with pytest.raises(StatusError, match="Request entity too large: limit is 3") as caught:
        await request_of(part(b"ab", True), part(b"cd", True)).body(3)
    assert caught.value.code == 413


async def test_a_body_that_takes_longer_than_a_request_may_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "MAXIMUM", 0.05)
    never = asyncio.Event()

    async def dripping() -> Mapping[str, Any]:
        with suppress(TimeoutError):
            await asyncio.wait_for(never.wait(), 0.01)
        return part(b" ", True)

    with pytest.raises(StatusError, match="request did not complete within the allotted timeout") as caught:
        async with asyncio.timeout(30):
            await Request("POST", "/", b"", {}, dripping).body()
    assert (caught.value.code, caught.value.reason) == (504, "Timeout")


async def test_a_cut_body_is_no_body() -> None:
    with pytest.raises(ClientDisconnected):
        await request_of(part(b"ab", True), {"type": "http.disconnect"}).body()


def test_a_query_is_parsed_as_go_does() -> None:
    query = parse_query(b"a=1&a=2&b&c=&d=x%20y+z&e=%zz&f=1;g=2&=v")
    assert query == {"a": ["1", "2"], "b": [""], "c": [""], "d": ["x y z"], "": ["v"]}


def test_a_query_of_too_many_pairs_counts_as_empty() -> None:
    """As in Go's net/url."""
    assert parse_query(b"&".join([b"a=1"] * 10_000)) == {"a": ["1"] * 10_000}
    assert parse_query(b"&".join([b"a=1"] * 10_001)) == {}


def test_chunks_go_out_in_pieces_of_limited_size() -> None:
    chunks = [b"a" * 10, b"b" * (PIECE - 5), b"c" * (2 * PIECE + 3), b"d"]
    sent = list(pieces(chunks))
    assert b"".join(sent) == b"".join(chunks)
    assert max(map(len, sent)) <= PIECE


def test_what_is_large_is_sent_from_where_it_is_in_full_writes() -> None:
    """A copy of 256 kB is memory that the C library maps and unmaps for each answer."""
    chunks = [b"a" * 10, b"b" * (PIECE + 5), b"c" * (2 * PIECE + 3), b"d"]
    sent = list(pieces(chunks))
    copied = [piece for piece in sent if isinstance(piece, bytes)]
    assert max(map(len, copied)) == AT_ONCE and len(copied) == 3, "only what joins two chunks"
    assert all(len(piece) % AT_ONCE == 0 for piece in sent[:-1])


def test_an_audit_id_is_the_clients_or_a_uuid() -> None:
    assert audit_id({b"audit-id": b"mine"}) == b"mine"
    assert [len(piece) for piece in audit_id({}).split(b"-")] == [8, 4, 4, 4, 12]


def test_warnings_are_quoted_deduplicated_and_truncated() -> None:
    assert warning_headers(['say "hi"\\', 'say "hi"\\']) == [(b"warning", b'299 - "say \\"hi\\"\\\\"')]
    assert warning_headers(["two\nlines"]) == []
    long = warning_headers([f"{number}" * 300 for number in range(100, 130)])
    assert sum(len(value) - len(b'299 - ""') for _, value in long) == 4096
    assert all(len(value) == 256 + len(b'299 - ""') for _, value in long)


@pytest.mark.parametrize(
    ("text", "seconds"), [("32s", 32), ("1m30s", 90), ("100h", 360000), ("0", 0), ("-5s", -5), ("1.5ms", 0.0015)]
)
def test_durations_are_go_durations(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("30", 'time: missing unit in duration "30"'),
        ("soon", 'time: invalid duration "soon"'),
        ("1x", 'time: unknown unit "x" in duration "1x"'),
    ],
)
def test_durations_without_sense_are_refused_in_gos_words(text: str, message: str) -> None:
    with pytest.raises(InvalidDuration) as caught:
        parse_duration(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("5s", 5), ("59s", 59), ("1m", 60), ("61s", 60), ("100h", 60), ("0s", 60), ("-5s", 60)],
)
def test_a_timeout_counts_up_to_a_minute_and_is_one_without_sense(text: str, seconds: float) -> None:
    assert request_timeout(text) == seconds
