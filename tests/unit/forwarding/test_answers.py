"""The parts of a forwarded answer are sent as they come; unrequested bytes are not."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gateway.forwarding import answers
from gateway.forwarding.answers import Begun
from gateway.forwarding.links import Links
from gateway.forwarding.pages import with_links
from gateway.http.status import StatusError


class Late:
    """An answer whose body comes when it is let."""

    def __init__(self) -> None:
        self.let, self._parts = asyncio.Event(), [b"late"]

    def __aiter__(self) -> Late:
        return self

    async def __anext__(self) -> bytes:
        await self.let.wait()
        if not self._parts:
            raise StopAsyncIteration
        return self._parts.pop()


async def test_a_head_without_a_type_does_not_wait_for_the_body(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "SOON", 0.01)
    late: Any = Late()
    begun = Begun(late)
    assert await begun.begin() == b""
    late.let.set()
    assert [part async for part in begun] == [b"late"]


class Switched:
    """An answer 101 to a request that did not ask for it."""

    status, closed = 101, False

    def header(self, name: str) -> str:
        return {"upgrade": "foo"}.get(name, "")

    async def aclose(self) -> None:
        self.closed = True


async def test_an_upgrade_that_nobody_asked_for_is_none() -> None:
    switched: Any = Switched()
    with pytest.raises(StatusError, match='backend tried to switch protocol "foo" when "" was requested') as refused:
        await with_links(switched, Links("", "host", "host"))
    assert refused.value.code == 500 and switched.closed


class Moved:
    """An answer that leads elsewhere, by a path that is not UTF-8."""

    status, headers = 302, ((b"location", b"/caf\xe9"), (b"content-type", b"text/plain"))
    first = dict(headers)

    def at_once(self, largest: int) -> bytes:
        return b""


async def test_a_location_keeps_its_bytes() -> None:
    moved: Any = Moved()
    found = await with_links(moved, Links("/proxy", "host", "host"))
    assert (b"location", b"/proxy/caf%E9") in found.headers
