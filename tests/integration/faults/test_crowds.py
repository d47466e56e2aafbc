"""A restarted server with many watchers serves them from its cache: it opens no etcd watch for each of them."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import ssl
from collections.abc import Coroutine, Iterable

from apiserver_gateway.testing import ApiServer
from storage.embedded import EmbeddedEtcd
from tests.integration.reads.api import PATIENCE, Client
from tests.integration.reads.conftest import Replicas

WATCHERS = 200
FEW = 5  # etcd's streams: one for the watched resource, and those that the servers' feeds may open again


def watches_begun(etcd: EmbeddedEtcd) -> int:
    """The number of watch streams that etcd was asked for since its start."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(etcd.endpoint.removeprefix("unix://"))
        connection.sendall(b"GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n")
        metrics = b"".join(iter(lambda: connection.recv(1 << 16), b""))
    found = re.search(rb'^grpc_server_started_total{grpc_method="Watch".*} (\d+)', metrics, re.MULTILINE)
    assert found is not None, metrics[:200]
    return int(found[1])


class Watcher:
    """One watcher: its connection, and the last version that it saw."""

    def __init__(self, selector: str, revision: int) -> None:
        self.selector, self.revision = selector, revision
        self._reader: asyncio.StreamReader
        self._writer: asyncio.StreamWriter

    async def begin(self, server: ApiServer, path: str, context: ssl.SSLContext) -> None:
        """Watches on a new connection, from the last version that it saw."""
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", server.port, ssl=context)
        query = f"watch=1&timeoutSeconds=600&resourceVersion={self.revision}&{self.selector}"
        head = f"GET {path}?{query} HTTP/1.1\r\nHost: crowd\r\nAuthorization: Bearer {server.token}\r\n\r\n"
        self._writer.write(head.encode())
        answer = await self._reader.readuntil(b"\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 200 "), answer

    async def sees(self, revision: int) -> None:
        """Reads the one change since then, which has this revision."""
        line = b""
        while not line.startswith(b"{"):
            line = await self._reader.readuntil(b"\n")
        self.revision = int(json.loads(line)["object"]["metadata"]["resourceVersion"])
        assert self.revision == revision, line

    def end(self) -> None:
        self._writer.transport.abort()


class Crowd:
    """Watchers of one object, selected in three ways."""

    def __init__(self, client: Client, revision: int) -> None:
        self._client = client
        selectors = ("fieldSelector=metadata.name%3Dthe-one", "labelSelector=the%3Done", "")
        self._watchers = [Watcher(selectors[index % 3], revision) for index in range(WATCHERS)]

    async def begin(self) -> None:
        """Lets all of them watch."""
        context = ssl.create_default_context(cafile=str(self._client.server.ca_file))
        few = asyncio.Semaphore(32)

        async def begin(watcher: Watcher) -> None:
            async with few:
                await watcher.begin(self._client.server, self._client.path, context)

        await _together(begin(watcher) for watcher in self._watchers)

    async def sees(self, revision: int) -> None:
        """Waits until all of them have seen the change of a revision, and nothing before it."""
        await _together(watcher.sees(revision) for watcher in self._watchers)

    def end(self) -> None:
        for watcher in self._watchers:
            watcher.end()


async def _together(each: Iterable[Coroutine[object, object, None]]) -> None:
    async with asyncio.timeout(3 * PATIENCE), asyncio.TaskGroup() as group:
        for one in each:
            group.create_task(one)


def test_a_crowd_goes_on_after_a_restart_and_etcd_is_not_asked_for_each(
    one: Client, other: Client, replicas: Replicas
) -> None:
    """Watchers of a killed server resume, and get the events of the time when it was down."""

    def change(data: str) -> int:
        return one.put("the-one", data, the="one")

    async def run() -> int:
        crowd = Crowd(other, change("first"))
        await crowd.begin()
        await crowd.sees(change("seen"))
        replicas.other.kill()
        crowd.end()
        missed = change("missed")
        await asyncio.to_thread(replicas.other.start)
        before = watches_begun(replicas.etcd)
        await crowd.begin()
        await crowd.sees(missed)
        await crowd.sees(change("after"))
        crowd.end()
        return watches_begun(replicas.etcd) - before

    assert asyncio.run(run()) <= FEW
