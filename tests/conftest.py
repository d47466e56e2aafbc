"""An etcd for the tests: one that all tests of the session share, or one for a single test to kill, pause and compact.

Property tests try the same examples in each run. With HYPOTHESIS_PROFILE=search they look for new ones, longer. With
`once` they simplify no example that fails. With `few` they try a fifth, for tests that also run elsewhere with all.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import grpc
import pytest
from hypothesis import HealthCheck, Phase, settings

from storage.embedded import EmbeddedEtcd, EmbeddedEtcdError, find_binary
from storage.etcd import EtcdClient, EtcdSettings
from tests import findings, forked, limits, times
from tests.long import ETCD, LONG, has_none
from tests.order import longest_first
from tests.stalls import MARK, follow_servers, loop_is_not_held
from tests.unchanging_phases import compare_phases
from tests.unchanging_records import compare_records

__all__ = ["loop_is_not_held"]

follow_servers()
compare_records()
compare_phases()

_PATIENT = [HealthCheck.too_slow]  # it measures wall time, so that a busy machine would fail a test
settings.register_profile("gate", derandomize=True, deadline=None, suppress_health_check=_PATIENT)
settings.register_profile("once", settings.get_profile("gate"), phases=[Phase.explicit, Phase.generate])
settings.register_profile("few", settings.get_profile("gate"), max_examples=20)
settings.register_profile("search", max_examples=2000, deadline=None, suppress_health_check=_PATIENT)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "gate"))

findings.read_logs()

CORE = grpc.insecure_channel("unix:/nobody-listens-here")
"""It keeps gRPC's core while the process runs tests, as a server's channel does. Otherwise the core ends with the last
channel of a test, with ten seconds for connections that are still being made; a thread of it ended the process then."""

IMAGE = "quay.io/coreos/etcd:v3.6.0"
PATIENCE = 60.0  # seconds that a client waits for etcd, on a busy machine too


def pytest_configure(config: pytest.Config) -> None:
    """Registers the markers of these tests."""
    config.addinivalue_line("markers", f"{MARK}(why): the server's event loop may be held during the test")
    config.addinivalue_line("markers", "long: takes many seconds; `make test` leaves it to `make test-all`")
    config.addinivalue_line("markers", "etcd: of the client and of writes, which .ci/run tests with each etcd")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Skips files without a requested test: collecting all files takes long."""
    if collection_path.suffix != ".py" or collection_path.name == "conftest.py":
        return None
    return True if has_none(collection_path, config.option.markexpr) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid.startswith(LONG):
            item.add_marker(pytest.mark.long)
        if item.nodeid.startswith(ETCD):
            item.add_marker(pytest.mark.etcd)
    if hasattr(config, "workerinput"):
        place = longest_first([item.nodeid for item in items])
        items.sort(key=lambda item: place(item.nodeid))


def pytest_runtest_setup() -> None:
    limits.COLLECTIONS.seconds = 0.0


@pytest.fixture(scope="session")
def etcd_endpoint() -> Iterator[str]:
    """The shared etcd: the local binary's, or a container's if APISERVER_GATEWAY_TEST_ETCD=container or without one."""
    if os.environ.get("APISERVER_GATEWAY_TEST_ETCD") == "container" or not _has_binary():
        yield from _container()
    else:
        with EmbeddedEtcd() as etcd:
            yield etcd.endpoint


@pytest.fixture
def own_etcd() -> Iterator[EmbeddedEtcd]:
    """An etcd for one test alone."""
    with EmbeddedEtcd() as etcd:
        yield etcd


@pytest.fixture
async def etcd_client(etcd_endpoint: str) -> AsyncIterator[EtcdClient]:
    """A client of the shared etcd."""
    async with EtcdClient(EtcdSettings((etcd_endpoint,), timeout=PATIENCE)) as client:
        yield client


@pytest.fixture
async def own_client(own_etcd: EmbeddedEtcd) -> AsyncIterator[EtcdClient]:
    """A client of `own_etcd`."""
    async with EtcdClient(EtcdSettings((own_etcd.endpoint,), timeout=PATIENCE)) as client:
        yield client


@pytest.fixture
def prefix() -> bytes:
    """A key prefix in the shared etcd for one test alone."""
    return f"/test/{uuid.uuid4().hex}/".encode()


def _has_binary() -> bool:
    try:
        find_binary()
    except EmbeddedEtcdError:
        return False
    return True


def _container() -> Iterator[str]:
    from testcontainers.core.container import DockerContainer
    from testcontainers.core.wait_strategies import LogMessageWaitStrategy

    command = "etcd --listen-client-urls=http://0.0.0.0:2379 --advertise-client-urls=http://127.0.0.1:2379"
    container = DockerContainer(IMAGE).with_exposed_ports(2379).with_command(command)
    with container.waiting_for(LogMessageWaitStrategy("ready to serve client requests")):
        yield f"http://{container.get_container_host_ip()}:{container.get_exposed_port(2379)}"


def pytest_sessionfinish() -> None:
    forked.end()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    findings.skipped(report)
    times.note(report)
