"""pytest fixtures, which are there by themselves wherever the package is installed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from apiserver_gateway.testing.requests import namespace
from apiserver_gateway.testing.server import ApiServer, api_server


@pytest.fixture(scope="session")
def kubernetes_api() -> Iterator[ApiServer]:
    """One throw-away server for all tests of a session; tests keep apart by namespaces of their own.

    With pytest-xdist each worker has its own.
    """
    with api_server() as server:
        yield server


@pytest.fixture
def fresh_kubernetes_api() -> Iterator[ApiServer]:
    """A server for one test alone."""
    with api_server() as server:
        yield server


@pytest.fixture
def kubernetes_namespace(kubernetes_api: ApiServer) -> Iterator[str]:
    """The name of a new namespace on the server that all tests share; it is deleted after the test."""
    with namespace(kubernetes_api) as name:
        yield name
