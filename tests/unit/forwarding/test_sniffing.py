"""An answer without a content type gets the one that Go's servers detect from its first bytes."""

from __future__ import annotations

import asyncio

import pytest

from gateway.forwarding import answers
from gateway.forwarding.links import Links
from gateway.forwarding.pages import with_links
from gateway.forwarding.sniffing import content_type
from gateway.http.exchange import Aborted, Response
from gateway.outbound.client import Client
from gateway.outbound.request import OutboundRequest
from tests.unit.outbound.servers import Answering, Peer, serving

TEXT = b"text/plain; charset=utf-8"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"", b""),
        (b"a", TEXT),
        (b'{"kind": "Status"}', TEXT),
        (b"\n <html >", b"text/html; charset=utf-8"),
        (b"<!doctype html>", b"text/html; charset=utf-8"),
        (b"<A href>", b"text/html; charset=utf-8"),
        (b"<abbr>", TEXT),
        (b"<!-- x -->", b"text/html; charset=utf-8"),
        (b" <?xml version", b"text/xml; charset=utf-8"),
        (b"%PDF-1.7", b"application/pdf"),
        (b"\x89PNG\r\n\x1a\n....", b"image/png"),
        (b"GIF89a", b"image/gif"),
        (b"RIFF\0\n\0\0WEBPVP8", b"image/webp"),
        (b"RIFF\0\n\0\0WAVE", b"audio/wave"),
        (b"\x1f\x8b\x08\0", b"application/x-gzip"),
        (b"PK\x03\x04", b"application/zip"),
        (b"Rar!\x1a\x07\x01\0", b"application/x-rar-compressed"),
        (b"\0asm", b"application/wasm"),
        (b"OTTO" + b"." * 30 + b"LP", b"application/vnd.ms-fontobject"),
        (b"%PDF-" + b"." * 29 + b"LP", b"application/pdf"),
        (b"." * 34 + b"LP", b"application/vnd.ms-fontobject"),
        (b"\xff\xfea\0", b"text/plain; charset=utf-16le"),
        (b"\xef\xbb\xbfabc", TEXT),
        (b"\0\0\0\x10ftypmp42mp42", b"video/mp4"),
        (b"\0\0\0\x11ftypmp42mp42a", b"application/octet-stream"),
        (b"a\0b", b"application/octet-stream"),
        (b"a" * 512 + b"\0", TEXT),
        ("größer".encode(), TEXT),
    ],
)
def test_types_by_their_beginnings(body: bytes, expected: bytes) -> None:
    assert content_type(body) == expected


def passed_on(answering: Answering, typed: asyncio.Event | None = None) -> tuple[Response, bytes]:
    """The answer as it is passed on, and its body; `typed` is set once its type is known."""

    async def run() -> tuple[Response, bytes]:
        async with serving(answering) as target:
            answer = await Client().stream(target, OutboundRequest("GET", "/", []))
            response = await with_links(answer, Links("", target.host_header, target.host_header))
            if typed is not None:
                typed.set()
            if isinstance(response.body, bytes):
                return response, response.body
            assert not isinstance(response.body, (list, tuple))
            return response, b"".join([part async for part in response.body])  # type: ignore[union-attr]

    return asyncio.run(run())


def chunked(
    *parts: bytes, head: bytes = b"", end: bytes = b"0\r\n\r\n", typed: asyncio.Event | None = None
) -> Answering:
    """With `typed` all but the first part wait for that."""

    async def answering(peer: Peer) -> None:
        await peer.request()
        await peer.say(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n" + head + b"\r\n")
        for part in parts:
            await peer.say(b"%x\r\n%b\r\n" % (len(part), part))
            if typed is not None:
                await typed.wait()  # so that the other side reads the first part by itself
        await peer.say(end)

    return answering


def test_the_type_of_a_stream_is_found_by_its_first_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "SOON", 60.0)  # however busy the machine is
    typed = asyncio.Event()
    response, body = passed_on(chunked(b"a" * 10, b"\0", typed=typed), typed)
    assert (response.content_type, body) == (TEXT, b"a" * 10 + b"\0")


@pytest.mark.parametrize("head", [b"content-type: x/y\r\n", b"content-type: \r\n", b"content-encoding: gzip\r\n"])
def test_a_type_or_a_coding_that_is_named_stays(head: bytes) -> None:
    response, _ = passed_on(chunked(b"a", head=head))
    assert response.content_type == (b"x/y" if b"x/y" in head else b"")


def test_a_stream_that_is_cut_at_once_is_cut_for_the_client() -> None:
    with pytest.raises(Aborted):
        passed_on(chunked(end=b""))
