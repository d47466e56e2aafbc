"""A throw-away server that all tests with real clients share. Each test has its own namespace."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from apiserver_gateway.testing import ApiServer, wait_for
from tests.clients.binaries import binary
from tests.clients.command import Helm, Kubectl
from tests.forked import api_server


@pytest.fixture(scope="session")
def server() -> Iterator[ApiServer]:
    """The server. It publishes no CA certificates, so that a namespace has only the ConfigMaps of its test."""
    with api_server("--controllers=*,podgc,-root-ca-cert-publisher") as running:
        wait_for(running, "/api/v1/namespaces/default/serviceaccounts/default", bool)  # pods need it
        yield running


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory for the caches of commands."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def namespace() -> str:
    """A namespace name that no other test uses."""
    return f"test-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def kubectl(server: ApiServer, home: Path, namespace: str) -> Kubectl:
    """kubectl in a new namespace."""
    command = Kubectl(_program("kubectl"), server.kubeconfig, home, namespace)
    command("create", "-f", "-", given={"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    return command


@pytest.fixture
def helm(server: ApiServer, home: Path, namespace: str) -> Helm:
    """helm in a new namespace."""
    return Helm(_program("helm"), server.kubeconfig, home, namespace)


def _program(name: str) -> Path:
    try:
        return binary(name)
    except RuntimeError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))
