"""A real server for hostile requests. None of them may end it, delay the requests of others, or leave memory behind.

Most tests use `held_at_most` and `memory_returns` of tests.hostile.probe: a hostile request is sent inside `with
held_at_most(server, 0.1), memory_returns(server):`.
"""

from __future__ import annotations

import base64
import http.client
import socket
import threading
from collections.abc import Iterator

import pytest

from apiserver_gateway.testing import ApiServer, api_server
from gateway.credentials.certificates import ensure_certificates, server_context
from tests.hostile.backend import ROOT, Backend, nothing, register
from tests.hostile.probe import is_alive, processes
from tests.integration.server.client import ask
from tests.until import until

ACCOUNT = "/api/v1/namespaces/default/serviceaccounts/default"  # a controller makes it; pods and tokens are of it
WARMING = ("/api/v1/namespaces/default", "/api/v1/pods", "/api/v1/namespaces/default?resourceVersion=0")
WRITTEN = ("/api/v1/namespaces/default/configmaps", "/api/v1/namespaces/default/secrets")


@pytest.fixture(scope="module")
def server_flags() -> tuple[str, ...]:
    """Flags of the module's server. A module that needs other flags overrides this fixture."""
    return ()


@pytest.fixture(scope="module")
def module_server(server_flags: tuple[str, ...]) -> Iterator[ApiServer]:
    with api_server(*server_flags) as running:
        until(lambda: is_ready(running) and answers(running, ACCOUNT))
        for path in WARMING:
            until(lambda path=path: answers(running, path))
        for path in WRITTEN:  # what writes need is imported by the first of them
            assert ask(running, "POST", f"{path}?dryRun=All", {"metadata": {"name": "warm"}}).status == 201
            assert ask(running, "POST", path, {"metadata": {"name": "a/b"}}).status == 422
        yield running


@pytest.fixture
def server(module_server: ApiServer) -> Iterator[ApiServer]:
    """The module's server. The test must leave it alive; if a test did not, the server is started again."""
    if not is_alive(module_server):
        module_server.kill()
        module_server.start()
        until(lambda: is_ready(module_server))
    before = processes(module_server.pid)
    yield module_server
    assert is_alive(module_server) and processes(module_server.pid) == before, "the server ended, or one of its workers"
    until(lambda: is_ready(module_server))


@pytest.fixture
def backend(server: ApiServer, registered: Backend) -> Backend:
    """The extension API server, available, and without connections of an earlier test."""
    registered.discovery = nothing
    until(lambda: ask(server, "GET", ROOT).status == 200)
    until(lambda: not registered.busy)
    return registered


@pytest.fixture(scope="module")
def registered(module_server: ApiServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backend]:
    files = ensure_certificates(tmp_path_factory.mktemp("backend"), ["127.0.0.1", "ext.default.svc"])
    made = Backend(bundle=base64.b64encode(files.ca.read_bytes()).decode())
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        made.port = listener.getsockname()[1]
        context = server_context(files.certificate, files.key)
        threading.Thread(target=made.serve, args=(listener, context), daemon=True).start()
        register(module_server, made)
        yield made


def is_ready(server: ApiServer) -> bool:
    """Whether the server is ready. Its check of etcd has a limit of two seconds, which a busy machine may exceed.

    No answer counts as not ready: a server with short time limits closes the connection of a client that is slow.
    """
    return answers(server, "/readyz")


def answers(server: ApiServer, path: str) -> bool:
    """Whether a GET of a path is answered with 200."""
    try:
        return ask(server, "GET", path).status == 200
    except (OSError, http.client.HTTPException):
        return False
