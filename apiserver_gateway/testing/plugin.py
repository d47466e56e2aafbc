"""pytest fixtures. pytest loads them by itself if the package is installed.

Ini options:
- `kubernetes_api_flags`: flags of `apiserver-gateway serve`.
- `kubernetes_api_scope`: the scope of the fixture `kubernetes_api`: session, package, module, class or function.
- `kubernetes_api_etcd`: `shared` if the servers of `fresh_kubernetes_api` share an etcd, each with its own key prefix;
  `own` if each has its own etcd.
- `kubernetes_api_workers`, with pytest-xdist: `each` if each worker has its own server, `shared` if all share one.

`@pytest.mark.kubernetes(MINOR, ...)` runs a test once for each of the named minors of Kubernetes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from copy import copy
from typing import TYPE_CHECKING, Any, Literal, get_args

import pytest

from apiserver_gateway.testing.requests import namespace
from apiserver_gateway.testing.server import ApiServer, ServerDidNotStart, api_server, of_version
from apiserver_gateway.testing.state import restored

if TYPE_CHECKING:
    from apiserver_gateway.testing.clusters import Cluster
    from apiserver_gateway.testing.faults import Faults
    from apiserver_gateway.testing.pool import Pool

FLAG = "--control-planes"
REPORT = "--api-report"
VERSION = "--kubernetes-version"
REPORTS = "api-report"  # the directory for the option without a value
Scope = Literal["session", "package", "module", "class", "function"]

_SHARED = "kubernetes_api"  # the key of the shared server's coordinates in a worker's input
_SCOPE, _WORKERS = "kubernetes_api_scope", "kubernetes_api_workers"
_ETCD, _FRESH = "kubernetes_api_etcd", "kubernetes_api_fresh"
_MARK, _MINOR = "kubernetes", "kubernetes_minor"
_CHOICES = {_SCOPE: get_args(Scope), _WORKERS: ("each", "shared"), _ETCD: ("shared", "own")}
_CHOICES[_FRESH] = ("process", "control-plane")
_held = pytest.StashKey[ExitStack]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("apiserver-gateway").addoption(
        REPORT,
        nargs="?",
        const=REPORTS,
        metavar="DIR",
        help="record what happens on API servers, and report it for each test that fails: here, and as a page in "
        f"{REPORTS}; {REPORT}=DIR names another directory",
    )
    parser.getgroup("apiserver-gateway").addoption(
        VERSION,
        metavar="MINOR",
        help="the Kubernetes minor that the servers of fixtures serve",
    )
    parser.addini("kubernetes_api_flags", "flags of `apiserver-gateway serve` for the servers of fixtures", type="args")
    parser.addini(_SCOPE, "the scope of the fixture kubernetes_api", default="session")
    parser.addini(_ETCD, "whether fresh servers share an etcd, or each has its own", default="shared")
    parser.addini(_FRESH, "what a fresh server is: a process, or a control plane of a shared one", default="process")
    parser.addini(_WORKERS, "with pytest-xdist: whether each worker has a server, or all share one", default="each")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config, parser: pytest.Parser, args: list[str]) -> None:
    """Gives --api-report its default directory. Else argparse would take the next word, a test, for the directory."""
    options = args[: args.index("--")] if "--" in args else args
    at = [number for number, word in enumerate(options) if word == REPORT]
    for number in at:
        args[number] = f"{REPORT}={REPORTS}"
    if at:
        again = parser.parse_known_args(args, copy(early_config.option))
        early_config.known_args_namespace.file_or_dir = again.file_or_dir


def pytest_configure(config: pytest.Config) -> None:
    for option, choices in _CHOICES.items():
        if config.getini(option) not in choices:
            raise pytest.UsageError(f"{option} = {config.getini(option)}: choose one of {', '.join(choices)}")
    config.addinivalue_line("markers", f"{_MARK}(*minors): the test runs on servers of each of these minors")
    directory = config.getoption(REPORT)
    if directory is not None:
        from apiserver_gateway.testing.report import Report

        config.pluginmanager.register(Report(config.rootpath / directory), "apiserver-gateway-report")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Runs a marked test once for each minor of its mark."""
    mark = metafunc.definition.get_closest_marker(_MARK)
    if mark is None:
        return
    if not mark.args or _MINOR not in metafunc.fixturenames:
        pytest.fail(
            f"{metafunc.definition.nodeid}: name minors in @pytest.mark.{_MARK}(MINOR, ...), and use a fixture that "
            "has a server, such as kubernetes_api",
            pytrace=False,
        )
    metafunc.parametrize(_MINOR, mark.args, indirect=True, scope="session")


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Passes the coordinates of the shared server to a worker of pytest-xdist. The first worker starts the server."""
    config: pytest.Config = node.config
    if config.getini(_WORKERS) != "shared":
        return
    if _held not in config.stash:
        stack = config.stash[_held] = ExitStack()
        config.stash[_server] = stack.enter_context(_started(config, _usual(config)))
    node.workerinput[_SHARED] = json.dumps(config.stash[_server].coordinates())


_server = pytest.StashKey[ApiServer]()


def pytest_unconfigure(config: pytest.Config) -> None:
    if _held in config.stash:
        config.stash[_held].close()


def _flags(config: pytest.Config, minor: str) -> list[str]:
    """The flags of the fixtures' servers."""
    return [*config.getini("kubernetes_api_flags"), *of_version(minor)]


@contextmanager
def _started(config: pytest.Config, minor: str, *more: str) -> Iterator[ApiServer]:
    with ExitStack() as stack:
        try:
            server = stack.enter_context(api_server(*_flags(config, minor), *more))
        except ServerDidNotStart as error:
            pytest.fail(str(error), pytrace=False)
        yield server


def _usual(config: pytest.Config) -> str:
    """The minor of servers for tests without a mark; "" for the server's default."""
    return config.getoption(VERSION) or ""


def _shared(config: pytest.Config) -> ApiServer | None:
    given = getattr(config, "workerinput", {}).get(_SHARED)
    return None if given is None else ApiServer.attached(json.loads(given))


def _scope(fixture_name: str, config: pytest.Config) -> Scope:
    scope: Scope = config.getini(_SCOPE)
    return scope


@pytest.fixture(scope="session")
def kubernetes_minor(request: pytest.FixtureRequest) -> str:
    """The minor of Kubernetes of the fixtures' servers: by the mark, by the option, or "" for the server's default."""
    return str(getattr(request, "param", _usual(request.config)))


@pytest.fixture(scope=_scope)
def kubernetes_api(request: pytest.FixtureRequest, kubernetes_minor: str) -> Iterator[ApiServer]:
    """One throw-away server for all tests of a session; each test should use its own namespace."""
    shared = _shared(request.config) if kubernetes_minor == _usual(request.config) else None
    if shared is not None:
        yield shared
        return
    with _started(request.config, kubernetes_minor) as server:
        yield server


@pytest.fixture(scope="session")
def kubernetes_api_pool(request: pytest.FixtureRequest, kubernetes_minor: str) -> Iterator[Pool]:
    """A pool of servers, from which a test gets its own at low cost: `with kubernetes_api_pool.server() as api:`."""
    from apiserver_gateway.testing.pool import Pool

    flags, etcd = _flags(request.config, kubernetes_minor), request.config.getini(_ETCD)
    with ExitStack() as stack:
        try:
            pool = stack.enter_context(Pool(*flags, own_etcd=etcd == "own"))
        except ServerDidNotStart as error:
            pytest.fail(str(error), pytrace=False)
        yield pool


@pytest.fixture
def fresh_kubernetes_api(request: pytest.FixtureRequest, kubernetes_minor: str) -> Iterator[ApiServer | Cluster]:
    """A server for one test alone; on Linux it comes from a pool. With `kubernetes_api_fresh = control-plane` it is a
    control plane, which has no process, flags and etcd of its own.
    """
    if request.config.getini(_FRESH) == "control-plane":
        yield request.getfixturevalue("kubernetes_cluster")
        return
    with ExitStack() as stack:
        if sys.platform == "linux":
            made = request.getfixturevalue("kubernetes_api_pool").server()
        else:
            made = _started(request.config, kubernetes_minor)
        try:
            server = stack.enter_context(made)
        except ServerDidNotStart as error:
            pytest.fail(str(error), pytrace=False)
        yield server


@pytest.fixture(scope="session")
def kubernetes_clusters(request: pytest.FixtureRequest) -> Iterator[ApiServer]:
    """A server of the session whose control planes tests use: `with kubernetes_clusters.cluster() as cluster:`. If the
    workers of pytest-xdist share a server with control planes, it is that one.
    """
    has_planes = FLAG in request.config.getini("kubernetes_api_flags")
    shared = _shared(request.config) if has_planes else None
    if shared is not None:
        yield shared
        return
    with _started(request.config, _usual(request.config), *(() if has_planes else (FLAG,))) as server:
        yield server


@pytest.fixture
def kubernetes_cluster(
    request: pytest.FixtureRequest, kubernetes_clusters: ApiServer, kubernetes_minor: str
) -> Iterator[Cluster]:
    """A control plane for one test alone: an API server of its own, on a server that all tests of the session share,
    whatever minor they are marked with.
    """
    version = "" if kubernetes_minor == _usual(request.config) else kubernetes_minor
    with kubernetes_clusters.cluster(version=version) as cluster:
        yield cluster


@pytest.fixture
def kubernetes_namespace(kubernetes_api: ApiServer) -> Iterator[str]:
    """The name of a new namespace on the shared server; it is deleted after the test."""
    with namespace(kubernetes_api) as name:
        yield name


@pytest.fixture
def kubernetes_faults(kubernetes_api: ApiServer) -> Iterator[Faults]:
    """The faults of the shared server; all of them are removed after the test."""
    faults = kubernetes_api.faults
    try:
        yield faults
    finally:
        faults.clear()


@pytest.fixture
def restored_kubernetes_api(
    kubernetes_api: ApiServer, kubernetes_minor: str, request: pytest.FixtureRequest
) -> Iterator[ApiServer]:
    """The shared server; its objects are restored after the test."""
    if _shared(request.config) is not None and kubernetes_minor == _usual(request.config):
        pytest.fail(
            "restored_kubernetes_api would undo the changes of other workers: give each worker its own server",
            pytrace=False,
        )
    with restored(kubernetes_api):
        yield kubernetes_api
