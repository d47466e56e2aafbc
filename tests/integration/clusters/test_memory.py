"""Control planes that are awake take little memory. Those that are deleted leave none, and no metric series."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from apiserver_gateway.testing import ApiServer, api_server, ask
from apiserver_gateway.testing.clusters import PATH, made
from gateway.memory import EVERY
from tests.integration.server.client import ask as raw
from tests.integration.testing.test_pool import private_megabytes
from tests.until import until

NUMBER, ROUNDS, THREADS = 100, 3, 8
MOST = 0.5  # MiB for each control plane of a round: what two rounds leave would be three times as much
AWAKE, USED = 0.5, 1.0  # MiB for each that is empty: as it begins, and once somebody has written in it


def _round(server: ApiServer) -> None:
    with ThreadPoolExecutor(THREADS) as pool:
        clusters = list(pool.map(lambda _: made(server), range(NUMBER)))
        list(pool.map(lambda each: ask(each, "GET", "/api/v1/namespaces/default"), clusters))
        list(pool.map(lambda each: each.delete(), clusters))
    until(lambda: not ask(server, "GET", PATH)["items"])


def _series(server: ApiServer) -> set[str]:
    lines = raw(server, "GET", "/metrics").body.decode().splitlines()
    return {line.rpartition(" ")[0] for line in lines if not line.startswith("#")}


def test_what_is_deleted_leaves_nothing() -> None:
    with api_server("--control-planes") as server:
        until(lambda: raw(server, "GET", PATH).status == 200)
        _round(server)  # from here on, the allocator has holes in which all of the next round has room
        series, before = _series(server), private_megabytes(server.pid)
        for _ in range(ROUNDS - 1):
            _round(server)
        most = before + MOST * NUMBER
        until(lambda: private_megabytes(server.pid) < most, 3 * EVERY, lambda: f"{private_megabytes(server.pid)} MiB")
        assert not _series(server) - series


@pytest.mark.parametrize(("most_of_each", "writes"), [(AWAKE, False), (USED, True)])
def test_one_that_is_awake_takes_little(most_of_each: float, writes: bool) -> None:
    with api_server("--control-planes") as server:
        until(lambda: raw(server, "GET", PATH).status == 200)
        before = 0.0
        for number in (10, NUMBER):  # the first ones also make what all share
            before = private_megabytes(server.pid)
            for each in [made(server) for _ in range(number)]:
                ask(each, "GET", "/api/v1/namespaces/default")
                if writes:
                    ask(each, "POST", "/api/v1/namespaces", {"metadata": {"name": "new"}})
        most = before + most_of_each * NUMBER
        until(lambda: private_megabytes(server.pid) < most, 3 * EVERY, lambda: f"{private_megabytes(server.pid)} MiB")
