"""A client for the ConfigMaps of one namespace, which each test has for itself: get, list, write, watch."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from apiserver_gateway.testing import ApiServer
from storage.etcd import EtcdClient, EtcdSettings
from tests.integration.server.client import Answer, connect

PATIENCE = 60.0
Result = TypeVar("Result")
Seen = tuple[str, str, int]  # type, name, resourceVersion


def on_etcd(endpoint: str, do: Callable[[EtcdClient], Awaitable[Result]]) -> Result:
    """Runs `do` with an etcd client: a writer that is not an API server. Returns its result."""

    async def run() -> Result:
        async with EtcdClient(EtcdSettings((endpoint,), timeout=PATIENCE)) as client:
            return await do(client)

    return asyncio.run(run())


class Watch:
    """A watch stream, event by event."""

    def __init__(self, connection: http.client.HTTPSConnection, response: http.client.HTTPResponse) -> None:
        self.connection, self.response = connection, response
        self.status = response.status

    def event(self) -> dict[str, Any] | None:
        """The next event, as parsed JSON; None at the end of the stream."""
        line = self.response.readline()
        event: dict[str, Any] | None = json.loads(line) if line else None
        return event

    def seen(self, count: int) -> list[Seen]:
        """The next `count` events as (type, name, resourceVersion)."""
        return [short(self.event()) for _ in range(count)]

    def rest(self) -> list[Seen]:
        """All events up to the end of the stream. Raises IncompleteRead if the stream is cut off."""
        return [short(json.loads(line)) for line in self.response.read().splitlines()]


def short(event: dict[str, Any] | None) -> Seen:
    assert event is not None, "the stream has ended"
    if event["type"] == "ERROR":
        return "ERROR", str(event["object"]["reason"]), int(event["object"]["code"])
    metadata = event["object"]["metadata"]
    return event["type"], metadata.get("name", ""), int(metadata["resourceVersion"])


class Client:
    """A client of one server, for one namespace."""

    def __init__(self, server: ApiServer, namespace: str) -> None:
        self.server, self.namespace = server, namespace
        self.path = f"/api/v1/namespaces/{namespace}/configmaps"
        self._connection: http.client.HTTPSConnection | None = None

    def on(self, server: ApiServer) -> Client:
        """A client for the same namespace on another replica."""
        return Client(server, self.namespace)

    def ask(
        self, method: str, path: str, body: Any = None, content_type: str = "application/json", accept: str = "*/*"
    ) -> Answer:
        """Sends one request on a connection that is kept. If it fails, the next request gets a new connection."""
        headers = {"Authorization": f"Bearer {self.server.token}", "Content-Type": content_type, "Accept": accept}
        if self._connection is None:
            self._connection = connect(self.server, PATIENCE)
        try:
            self._connection.request(method, path, None if body is None else json.dumps(body), headers)
            response = self._connection.getresponse()
            lower = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, lower, response.read())
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def put(self, name: str, data: str = "", **labels: str) -> int:
        """Creates or replaces a ConfigMap. Returns its resourceVersion."""
        metadata = {"name": name, "labels": labels}
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"data": data}}
        answer = self.ask("POST", self.path, body)
        if answer.status == 409:
            answer = self.ask("PUT", f"{self.path}/{name}", body)
        assert answer.status in (200, 201), answer.body
        return int(answer.json["metadata"]["resourceVersion"])

    def delete(self, name: str) -> None:
        answer = self.ask("DELETE", f"{self.path}/{name}")
        assert answer.status == 200, answer.body

    def get(self, name: str, query: str = "") -> Answer:
        return self.ask("GET", f"{self.path}/{name}?{query}")

    def list(self, query: str = "") -> Answer:
        return self.ask("GET", f"{self.path}?{query}")

    @contextmanager
    def watch(
        self,
        query: str = "",
        path: str = "",
        receive_buffer: int = 0,
        asking: str = "watch=1&",
        coding: str = "identity",
    ) -> Iterator[Watch]:
        connection = connect(self.server, PATIENCE)
        try:
            connection.connect()
            if receive_buffer:
                connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
            headers = {"Authorization": f"Bearer {self.server.token}", "Accept-Encoding": coding}
            connection.request("GET", f"{path or self.path}?{asking}{query}", headers=headers)
            yield Watch(connection, connection.getresponse())
        finally:
            connection.close()


def names(answer: Answer) -> list[str]:
    """The names in a list."""
    assert answer.status == 200, answer.body
    return [each["metadata"]["name"] for each in answer.json["items"]]


def version(answer: Answer) -> int:
    return int(answer.json["metadata"]["resourceVersion"])
