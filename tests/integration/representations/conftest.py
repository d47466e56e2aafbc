"""A server with CBOR, and one with default flags."""

from __future__ import annotations

import http.client
import uuid
from collections.abc import Iterator, Mapping

import pytest

from apiserver_gateway.testing import ApiServer
from tests.forked import api_server
from tests.integration.server.client import Answer, connect

NONE: Mapping[str, str] = {}


class Client:
    """Sends bytes to one server, in a namespace for one test."""

    def __init__(self, server: ApiServer) -> None:
        self.server, self.namespace = server, f"forms-{uuid.uuid4().hex[:8]}"
        self.configmaps = f"/api/v1/namespaces/{self.namespace}/configmaps"
        self._connection = connect(server)

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        accept: str = "",
        headers: Mapping[str, str] = NONE,
    ) -> Answer:
        """Returns a whole answer."""
        response = self.opened(method, path, body, accept, headers)
        lower = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, lower, response.read())

    def opened(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        accept: str = "",
        headers: Mapping[str, str] = NONE,
    ) -> http.client.HTTPResponse:
        """Returns an answer whose body is still to be read."""
        sent = {"Authorization": f"Bearer {self.server.token}", "Accept": accept, **headers}
        self._connection.request(method, path, body, sent)
        return self._connection.getresponse()

    def close(self) -> None:
        self._connection.close()


@pytest.fixture(scope="package")
def plain() -> Iterator[ApiServer]:
    with api_server("--controllers=-*") as running:
        yield running


@pytest.fixture(scope="package")
def with_cbor() -> Iterator[ApiServer]:
    with api_server("--controllers=-*", "--feature-gates=CBORServingAndStorage=true") as running:
        yield running


@pytest.fixture(scope="package")
def older_with_cbor() -> Iterator[ApiServer]:
    gate = "--feature-gates=CBORServingAndStorage=true"
    with api_server("--controllers=-*", "--kubernetes-version=1.36", gate) as running:
        yield running


def _client(server: ApiServer) -> Iterator[Client]:
    client = Client(server)
    body = b'{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"%b"}}' % client.namespace.encode()
    assert client.ask("POST", "/api/v1/namespaces", body).status == 201
    yield client
    client.close()


@pytest.fixture
def client(plain: ApiServer) -> Iterator[Client]:
    yield from _client(plain)


@pytest.fixture
def cbor_client(with_cbor: ApiServer) -> Iterator[Client]:
    yield from _client(with_cbor)


@pytest.fixture
def older(older_with_cbor: ApiServer) -> Iterator[Client]:
    """A client of a server of 1.36 with CBOR."""
    yield from _client(older_with_cbor)
