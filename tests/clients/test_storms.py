"""Informers and watches that all reconnect after a restart: the benchmark programs, with few clients."""

from __future__ import annotations

import argparse

import pytest

from storage.embedded import EmbeddedEtcd
from tests.benchmarks import informers, storm
from tests.benchmarks.crowd import Server, Watched, fill
from tests.clients import golang
from tests.hasty import hasty

FEW = 4  # etcd watch streams that a server opens for itself, for any number of watches
# Even on a busy machine, etcd sends changes from before the start. Without them, each resource needs a stream for a
# moment
PATIENT = {"storage.history_seed.WAIT": 60.0}

OUTCOMES = {"200", "connection refused", "connection reset", "EOF"}  # the last three while the server is down


def test_informers_of_many_clients_sync_and_come_back() -> None:
    """All watches are open again, none got an error meanwhile, and etcd has no stream for each of them."""
    golang.built("crowd")  # skips the test without Go
    watches = 3 * 30
    with (
        EmbeddedEtcd(loopback=True) as etcd,
        hasty(PATIENT, *informers.FLAGS, etcd_servers=etcd.endpoint) as server,
        informers.informers(server, server.token, 3, 30) as crowd,
    ):
        found = crowd.report()
        assert found["open"] == watches and found["answers"] == {"watch of all: 200": watches}
        for end in (server.stop, server.kill):
            before = informers.watches_of(etcd.endpoint)
            crowd.mark()
            end()
            server.start()
            crowd.ask("wait")
            found = crowd.report()
            assert found["open"] == watches
            assert {each.partition(": ")[2] for each in found["answers"]} <= OUTCOMES, found["answers"]
            assert informers.watches_of(etcd.endpoint) - before <= FEW


@pytest.mark.parametrize("how", storm.HOW)
def test_watchers_that_come_back_at_once_are_all_served(how: str) -> None:
    with (
        EmbeddedEtcd(loopback=True) as etcd,
        hasty(PATIENT, *informers.FLAGS, etcd_servers=etcd.endpoint) as server,
    ):
        fill(Server(server.url, server.token), Watched(100, tenants=False))
        before = informers.watches_of(etcd.endpoint)
        found = storm.storm(
            "gateway", how, server, etcd.endpoint, argparse.Namespace(watchers=100, within=0.1, account=True)
        )
        assert 0 < found["served after, p99"] <= found["all served after"]
        assert informers.watches_of(etcd.endpoint) - before <= FEW
