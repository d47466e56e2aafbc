"""etcd or a server dies during work: no acknowledged write is lost, and no event is sent twice."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integration.crash import crash
from tests.integration.faults.load import Load, check_answers, check_events, watching
from tests.integration.reads.api import Client
from tests.integration.reads.conftest import Replicas
from tests.integration.reads.test_lists import restarted
from tests.integration.server.client import ask


@pytest.fixture(autouse=True)
def consistent(replicas: Replicas) -> Iterator[None]:
    """Checks after each test that the caches of both servers are equal to etcd."""
    yield
    for server in (replicas.one, replicas.other):
        assert {each["status"] for each in ask(server, "GET", "/debug/consistency").json} == {"success"}


def test_etcd_is_killed_and_comes_back(one: Client, other: Client, replicas: Replicas) -> None:
    with watching(other, one.put("first"), "last") as followed:
        with Load(one) as told:
            crash(replicas.etcd)
            replicas.etcd.start()
            told.more_acknowledgements()
            crash(replicas.etcd)
            told.wait(lambda: bool(told.refusals))
            replicas.etcd.start()
            told.more_acknowledgements()
        for name, number in told.acknowledged.items():
            assert int(other.get(name).json["data"]["n"]) >= number
        one.put("last")
        seen, resumed = followed.result()
    assert (resumed, told.broken) == (0, 0)
    check_events(seen, told)
    check_answers(told)


def test_a_hanging_etcd_holds_nobody_for_long(one: Client, replicas: Replicas) -> None:
    with watching(one, one.put("first"), "last") as followed:
        with Load(one, writers=2) as told:
            replicas.etcd.pause()
            try:
                told.wait(lambda: len(told.refusals) >= 4)
            finally:
                replicas.etcd.resume()
            told.more_acknowledgements()
        one.put("last")
        seen, _ = followed.result()
    check_events(seen, told)
    check_answers(told)


def test_a_server_is_killed_and_its_clients_resume(one: Client, other: Client, replicas: Replicas) -> None:
    """On the same server after its restart, from the last version that they saw, without a 410."""
    with watching(other, one.put("first"), "last") as followed:
        with Load(one) as told:
            restarted(replicas.other)
            told.more_acknowledgements()
        one.put("last")
        seen, resumed = followed.result()
    assert resumed >= 1
    check_events(seen, told)
    assert (told.refusals, told.broken) == ([], 0)


def test_the_writes_of_a_killed_server_are_kept(one: Client, other: Client, replicas: Replicas) -> None:
    with watching(other, one.put("first"), "last") as followed:
        with Load(one) as told:
            restarted(replicas.one)
            told.wait(lambda: told.broken > 0)
            told.more_acknowledgements()
        for name, number in told.acknowledged.items():
            assert int(other.get(name).json["data"]["n"]) >= number
        other.put("last")
        seen, resumed = followed.result()
    assert resumed == 0
    check_events(seen, told)
