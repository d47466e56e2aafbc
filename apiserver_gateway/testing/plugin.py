"""pytest fixtures, which are there by themselves wherever the package is installed.

Ini options: `kubernetes_api_flags` (flags of `apiserver-gateway serve`), `kubernetes_api_scope` (of the fixture
`kubernetes_api`: session, package, module, class or function), and `kubernetes_api_workers`, with pytest-xdist: `each`
worker has a server of its own, or one is `shared` by all.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Literal, get_args

import pytest

from apiserver_gateway.testing.requests import namespace
from apiserver_gateway.testing.server import ApiServer, ServerDidNotStart, api_server
from apiserver_gateway.testing.state import restored

Scope = Literal["session", "package", "module", "class", "function"]

_SHARED = "kubernetes_api"  # what workers are told of the server that is shared
_SCOPE, _WORKERS = "kubernetes_api_scope", "kubernetes_api_workers"
_CHOICES = {_SCOPE: get_args(Scope), _WORKERS: ("each", "shared")}
_held = pytest.StashKey[ExitStack]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini("kubernetes_api_flags", "flags of `apiserver-gateway serve` for the servers of fixtures", type="args")
    parser.addini(_SCOPE, "the scope of the fixture kubernetes_api", default="session")
    parser.addini(_WORKERS, "with pytest-xdist: each worker a server, or one shared", default="each")


def pytest_configure(config: pytest.Config) -> None:
    for option, choices in _CHOICES.items():
        if config.getini(option) not in choices:
            raise pytest.UsageError(f"{option} = {config.getini(option)}: choose one of {', '.join(choices)}")


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tells a worker of pytest-xdist's which server is shared; it is started with the first worker."""
    config: pytest.Config = node.config
    if config.getini(_WORKERS) != "shared":
        return
    if _held not in config.stash:
        stack = config.stash[_held] = ExitStack()
        config.stash[_server] = stack.enter_context(_started(config))
    node.workerinput[_SHARED] = json.dumps(config.stash[_server].coordinates())


_server = pytest.StashKey[ApiServer]()


def pytest_unconfigure(config: pytest.Config) -> None:
    if _held in config.stash:
        config.stash[_held].close()


@contextmanager
def _started(config: pytest.Config) -> Iterator[ApiServer]:
    with ExitStack() as stack:
        try:
            server = stack.enter_context(api_server(*config.getini("kubernetes_api_flags")))
        except ServerDidNotStart as error:
            pytest.fail(str(error), pytrace=False)
        yield server


def _shared(config: pytest.Config) -> ApiServer | None:
    given = getattr(config, "workerinput", {}).get(_SHARED)
    return None if given is None else ApiServer.attached(json.loads(given))


def _scope(fixture_name: str, config: pytest.Config) -> Scope:
    scope: Scope = config.getini(_SCOPE)
    return scope


@pytest.fixture(scope=_scope)
def kubernetes_api(request: pytest.FixtureRequest) -> Iterator[ApiServer]:
    """One throw-away server for all tests of a session; tests keep apart by namespaces of their own."""
    shared = _shared(request.config)
    if shared is not None:
        yield shared
        return
    with _started(request.config) as server:
        yield server


@pytest.fixture
def fresh_kubernetes_api(request: pytest.FixtureRequest) -> Iterator[ApiServer]:
    """A server for one test alone."""
    with _started(request.config) as server:
        yield server


@pytest.fixture
def kubernetes_namespace(kubernetes_api: ApiServer) -> Iterator[str]:
    """The name of a new namespace on the server that all tests share; it is deleted after the test."""
    with namespace(kubernetes_api) as name:
        yield name


@pytest.fixture
def restored_kubernetes_api(kubernetes_api: ApiServer, request: pytest.FixtureRequest) -> Iterator[ApiServer]:
    """The server that all tests share; what the test changes of its state is undone after it."""
    if _shared(request.config) is not None:
        pytest.fail(
            "restored_kubernetes_api would undo what other workers do: give each worker a server", pytrace=False
        )
    with restored(kubernetes_api):
        yield kubernetes_api
