"""The URLs at which webhooks are called, and the errors for answers without a body."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gateway.outbound.client import Client, Reply
from gateway.outbound.request import OutboundRequest
from gateway.outbound.target import Target
from gateway.webhooks.client import WebhookError, Webhooks
from tests.unit.outbound.servers import Answering, Peer, serving


class Services:
    """Every service is here."""

    def address(self, namespace: str, name: str, port: int) -> tuple[str, int]:
        return "127.0.0.1", port


WEBHOOKS: Any = Webhooks


def url(config: dict[str, Any]) -> str:
    found: str = WEBHOOKS(None, Services()).url(config, 10)
    return found


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        ("", "/"),
        ("/", "/"),
        ("//x//y/", "/x/y"),
        ("/a/../b", "/b"),
        ("/a%20b/%2F", "/a%20b"),
        ("/a!(", "/a%21%28"),
    ],
)
def test_paths_are_cleaned_as_client_go_does(path: str, asked: str) -> None:
    assert url({"url": f"https://h:1{path}"}) == f"https://h:1{asked}?timeout=10s"


def test_a_path_of_a_service_is_as_it_stands() -> None:
    service = {"namespace": "n", "name": "s", "path": "/a%20b//c d/"}
    assert url({"service": service}) == "https://s.n.svc:443/a%2520b/c%20d?timeout=10s"


class Plainly:
    """A client that calls one server without TLS, whatever the URL is."""

    def __init__(self, client: Client, target: Target) -> None:
        self._client, self._target = client, target

    async def call(self, target: Target, request: OutboundRequest, timeout: float, largest: int) -> Reply:
        return await self._client.call(self._target, request, timeout, largest)


def refusal(answering: Answering, timeout: float = 30) -> str:
    async def run() -> str:
        client = Client()
        async with serving(answering) as target:
            try:
                await WEBHOOKS(Plainly(client, target), Services()).ask({"url": "https://h/x"}, b"{}", timeout)
            except WebhookError as error:
                return str(error)
            finally:
                client.close()
        raise AssertionError("it was answered")

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("header", "named"), [(b"content-type: text/plain\r\n", "text/plain"), (b"", "application/json")]
)
def test_an_answer_without_a_body_is_named_by_its_type(header: bytes, named: str) -> None:
    async def answering(peer: Peer) -> None:
        await peer.request()
        await peer.say(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n" + header + b"\r\n")

    assert refusal(answering) == f"0-length response with status code: 200 and content type: {named}"


def test_a_body_that_does_not_end_in_time_is_told_from_an_answer_that_does_not_begin() -> None:
    async def begins(peer: Peer) -> None:
        await peer.request()
        await peer.say(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{")
        await asyncio.Event().wait()

    async def waits(peer: Peer) -> None:
        await peer.request()
        await asyncio.Event().wait()

    cut = "unexpected error when reading response body. Please retry. Original error: context deadline exceeded"
    assert cut in (refusal(begins, patience) for patience in (0.3, 3, 30)), "given the time to begin"
    assert refusal(waits, 0.3).endswith('?timeout=1s": context deadline exceeded')


def busy(*times: str, code: int = 503) -> tuple[Answering, list[bytes]]:
    """Says these Retry-After one after the other (none for ""), then that all is well; and the requests that it got."""
    got, left = list[bytes](), list(times)

    async def answering(peer: Peer) -> None:
        while True:
            got.append(await peer.request() + await peer.reader.readexactly(2))
            header = f"Retry-After: {left[0]}\r\n" if left and left[0] else ""
            status, body = (code, "busy") if left else (200, "fine")
            del left[:1]
            await peer.say(f"HTTP/1.1 {status} X\r\n{header}content-length: 4\r\n\r\n{body}".encode())

    return answering, got


def answer(answering: Answering) -> bytes:
    async def run() -> bytes:
        client = Client()
        async with serving(answering) as target:
            try:
                webhooks = WEBHOOKS(Plainly(client, target), Services())
                return bytes(await webhooks.ask({"url": "https://h/"}, b"{}", 30))
            finally:
                client.close()

    return asyncio.run(run())


@pytest.mark.parametrize("code", [429, 500, 503, 599])
def test_a_webhook_that_says_when_it_is_not_busy_any_more_is_asked_again_then(code: int) -> None:
    answering, got = busy("0", "+0", "-1", code=code)
    assert answer(answering) == b"fine"
    assert len(got) == 4
    assert len(set(got)) == 1


@pytest.mark.parametrize(("said", "code"), [("", 503), ("soon", 503), ("1.0", 503), ("0", 404), ("0", 409)])
def test_what_does_not_say_so_is_an_answer(said: str, code: int) -> None:
    answering, got = busy(said, code=code)
    with pytest.raises(WebhookError):
        answer(answering)
    assert len(got) == 1


def test_a_webhook_is_asked_again_ten_times_at_the_most() -> None:
    answering, got = busy(*["0"] * 20)
    with pytest.raises(WebhookError, match="unable to handle"):
        answer(answering)
    assert len(got) == 11


def test_a_webhook_that_is_busy_for_longer_than_it_is_waited_for_is_late() -> None:
    answering, got = busy("3600")
    assert refusal(answering).endswith('?timeout=30s": context deadline exceeded')
    assert len(got) == 1
