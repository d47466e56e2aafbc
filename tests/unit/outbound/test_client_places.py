"""Proxied requests take places, whose number is limited, in total and for one user."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from gateway.outbound import client
from gateway.outbound.client import Client
from gateway.outbound.errors import CallError, NoPlace
from gateway.outbound.places import Places
from gateway.outbound.request import OutboundRequest
from tests.unit.outbound.servers import Peer, serving

GET = OutboundRequest("GET", "/")
CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n"


def test_requests_that_are_passed_on_are_bounded_and_those_of_a_user() -> None:
    """Each that ends makes room for one, however it ends; the server's own calls need none."""

    async def answering(peer: Peer) -> None:
        await peer.request()
        await peer.say(CHUNKED + b"\r\n1\r\na\r\n")
        await peer.reader.read()

    async def run() -> None:
        places = Places(4)
        client = Client(places=places)
        async with serving(answering) as target:
            used = [await client.pass_on(target, GET, "a") for _ in range(2)]
            with pytest.raises(NoPlace, match="2 requests of yours are passed on"):
                await client.pass_on(target, GET, "a")
            used += [await client.pass_on(target, GET, user) for user in "bc"]
            with pytest.raises(NoPlace, match="4 requests are passed on"):
                await client.pass_on(target, GET, "d")
            own = await client.stream(target, GET)
            await used[0].aclose()
            used[1].finish()
            used[2].finish()
            used[2].finish()
            assert places.number == 1
            await (await client.pass_on(target, GET, "a")).aclose()
            for each in (own, used[3]):
                await each.aclose()
            del used
            assert places.number == 0
            lost = await client.pass_on(target, GET, "a")
            del lost
            assert places.number == 0
        with pytest.raises(CallError):
            await client.pass_on(target, GET, "a")  # nobody listens there any more
        assert places.number == 0 and not places._taken
        client.close()

    asyncio.run(run())


@pytest.mark.parametrize("room", ["proxies", "forwarding", "aggregation/delegation.py"])
def test_what_passes_on_clients_requests_takes_places_for_them(room: str) -> None:
    """Such requests use `passed_on`, never `stream`, which is for the server's own calls."""
    place = Path(client.__file__).parents[1] / room
    sources = [place] if place.is_file() else sorted(place.glob("*.py"))
    texts = [each.read_text() for each in sources]
    assert any("passed_on(" in text for text in texts)
    assert not any(".stream(" in text or "outbound.call(" in text for text in texts)
