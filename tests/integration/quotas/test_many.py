"""A namespace may have more quotas than a transaction of etcd has operations."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from storage.embedded import EmbeddedEtcd
from tests.forked import api_server
from tests.integration.quotas.conftest import FLAGS
from tests.integration.quotas.test_exactness import Namespace
from tests.until import until

QUOTAS = 240  # with etcd's default of 128 operations
ROOM = 12


@pytest.fixture(scope="module")
def limited() -> Iterator[Namespace]:
    """A namespace of two servers, with many quotas. One in the middle has the least room."""
    with (
        EmbeddedEtcd(arguments=("--max-txn-ops=128",)) as etcd,
        api_server(*FLAGS, etcd_servers=etcd.endpoint) as one,
        api_server(*FLAGS, etcd_servers=etcd.endpoint) as other,
    ):
        made = Namespace((one, other))
        for number in range(QUOTAS):
            hard = {"secrets": str(ROOM if number == QUOTAS // 2 else 100)}
            quota = {"metadata": {"name": f"q{number:03}"}, "spec": {"hard": hard}}
            assert made.ask("POST", "resourcequotas", quota).status == 201
        for server in (0, 1):
            until(lambda server=server: _used(made, server) == ["0"] * QUOTAS)
        yield made


def _used(limited: Namespace, server: int = 0) -> list[str | None]:
    items = limited.ask("GET", "resourcequotas?resourceVersion=0", server=server).json["items"]
    return [item.get("status", {}).get("used", {}).get("secrets") for item in items]


def test_a_write_is_charged_to_all_of_them_and_refused_by_any(limited: Namespace) -> None:
    assert limited.create("first", resource="secrets").status == 201
    until(lambda: _used(limited) == ["1"] * QUOTAS)
    assert limited.create("first", resource="secrets").status == 409
    with ThreadPoolExecutor(16) as pool:
        jobs = [pool.submit(limited.create, f"s{number}", number % 2, "secrets") for number in range(ROOM + 4)]
        answers = [job.result() for job in jobs]
    assert sorted(answer.status for answer in answers) == [201] * (ROOM - 1) + [403] * 5
    refused = next(answer.json["message"] for answer in answers if answer.status == 403)
    assert f"exceeded quota: q{QUOTAS // 2:03}" in refused
    assert limited.count("secrets") == ROOM
    until(lambda: _used(limited) == [str(ROOM)] * QUOTAS)
    assert limited.ask("DELETE", "secrets/first").status == 200
    until(lambda: limited.create("last", 1, "secrets").status == 201)
    until(lambda: _used(limited, 1) == [str(ROOM)] * QUOTAS)
