"""Two gateways and three etcd members behind a load balancer: one of each is killed or replaced, and no write is
lost.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from apiserver_gateway.testing import ApiServer, Refused, ask
from tests.engine import images
from tests.engine.project import Project

MAPS = "/api/v1/namespaces/default/configmaps"
SECONDS = 90  # within which the loss of one must be noticed, on a busy machine


class Load:
    """Writes objects one after the other, each on a new connection, like many clients.

    Names begin with `prefix`: two loads on one server write different objects.
    """

    def __init__(self, server: ApiServer, prefix: str) -> None:
        self.server, self.prefix = server, prefix
        self.acknowledged: list[str] = []
        self.failures: list[str] = []
        self._is_over = threading.Event()

    def run(self) -> None:
        """Writes until `end` is called."""
        number = 0
        while not self._is_over.is_set():
            number += 1
            name = f"{self.prefix}-{number}"
            try:
                ask(self.server, "POST", MAPS, {"metadata": {"name": name}})
                self.acknowledged.append(name)
            except (Refused, OSError) as error:
                self.failures.append(f"{name}: {error}")

    def end(self) -> None:
        """Ends the load."""
        self._is_over.set()

    def goes_on(self, writes: int = 20) -> None:
        """Waits until that many more writes were acknowledged."""
        wanted = len(self.acknowledged) + writes
        deadline = time.monotonic() + SECONDS
        while len(self.acknowledged) < wanted:
            assert time.monotonic() < deadline, f"no service any more: {self.failures[-3:]}"
            time.sleep(0.05)

    def is_kept(self) -> bool:
        """Whether all acknowledged writes are stored."""
        found = {each["metadata"]["name"] for each in ask(self.server, "GET", MAPS)["items"]}
        return set(self.acknowledged) <= found


@contextmanager
def load(server: ApiServer, prefix: str) -> Iterator[Load]:
    made = Load(server, prefix)
    thread = threading.Thread(target=made.run)
    thread.start()
    try:
        yield made
    finally:
        made.end()
        thread.join()


@pytest.fixture
def available(project: Project) -> ApiServer:
    """The project with the profile ha."""
    return project.up("gateway-0")


def test_one_of_each_may_be_killed_and_each_be_replaced(project: Project, available: ApiServer) -> None:
    with load(available, "killed") as writes:
        writes.goes_on()
        images.docker("kill", project.container("etcd-1"))
        writes.goes_on()
        project.compose("--profile", "ha", "up", "--detach", "--wait", "--no-deps", "etcd-1")
        images.docker("kill", project.container("gateway-0"))
        writes.goes_on()
        project.compose("--profile", "ha", "up", "--detach", "--wait", "--no-deps", "gateway-0")
        writes.goes_on()
    assert writes.is_kept()

    images.docker("tag", images.GATEWAY, newer := f"{images.GATEWAY}-{project.name}")
    try:
        with load(available, "replaced") as writes:
            for gateway in ("gateway-0", "gateway-1"):
                before = project.container(gateway)
                words = ("--profile", "ha", "up", "--detach", "--wait", "--no-deps", gateway)
                project.compose(*words, GATEWAY_IMAGE=newer)
                assert project.container(gateway) != before
            writes.goes_on()
        assert writes.is_kept() and writes.failures == [], "no request fails while one after the other is replaced"
    finally:
        images.docker("rmi", newer, check=False)
