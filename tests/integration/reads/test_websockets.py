"""Watches over WebSockets, which Java's informers and browsers use."""

from __future__ import annotations

import asyncio
import json
import ssl

import aiohttp
import pytest

from tests.integration.reads.api import Client

ORIGIN = {"Origin": "https://example.org"}


def session(client: Client) -> aiohttp.ClientSession:
    context = ssl.create_default_context(cafile=str(client.server.ca_file))
    headers = {"Authorization": f"Bearer {client.server.token}"}
    return aiohttp.ClientSession(headers=headers, connector=aiohttp.TCPConnector(ssl=context))


def place(client: Client, query: str) -> str:
    return f"{client.server.url}/api/v1/namespaces/{client.namespace}/configmaps?{query}"


async def test_events_are_messages_and_the_end_is_said(one: Client) -> None:
    start = await asyncio.to_thread(one.put, "a")
    async with session(one) as http:
        query = f"watch=1&resourceVersion={start}"
        async with http.ws_connect(place(one, query), headers=ORIGIN) as watch:
            await asyncio.to_thread(one.put, "b")
            await watch.ping(b"still there?")
            await asyncio.to_thread(one.put, "c")
            found = [await watch.receive() for _ in range(2)]
        async with http.ws_connect(place(one, f"{query}&timeoutSeconds=1"), headers=ORIGIN, autoclose=False) as watch:
            while (end := await watch.receive()).type is aiohttp.WSMsgType.TEXT:
                pass
        assert [message.type for message in found] == [aiohttp.WSMsgType.TEXT] * 2
        assert [json.loads(message.data)["object"]["metadata"]["name"] for message in found] == ["b", "c"]
        assert (end.type, end.data) == (aiohttp.WSMsgType.CLOSE, 1000)


async def test_a_client_may_go_at_any_time(one: Client) -> None:
    async with session(one) as http:
        async with http.ws_connect(place(one, "watch=1"), headers=ORIGIN) as watch:
            await asyncio.to_thread(one.put, "a")
            assert (await watch.receive()).type is aiohttp.WSMsgType.TEXT
        assert watch.close_code == 1000
        cut = await http.ws_connect(place(one, "watch=1"), headers=ORIGIN)
        assert cut._response.connection is not None and cut._response.connection.transport is not None
        cut._response.connection.transport.abort()
    assert await asyncio.to_thread(one.put, "a", "2")


async def test_what_is_refused_is_no_websocket(one: Client) -> None:
    async with session(one) as http:
        for query, headers, status in (
            ("watch=1", {}, 403),
            ("watch=1&labelSelector=,,", ORIGIN, 400),
            ("", ORIGIN, 200),
        ):
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                await http.ws_connect(place(one, query), headers=headers)
            assert refused.value.status == status
