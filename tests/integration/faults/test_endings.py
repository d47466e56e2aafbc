"""Servers stop on a signal, whatever requests they serve, and several workers act as one server."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from apiserver_gateway.testing import ApiServer, api_server
from storage.embedded import EmbeddedEtcd
from tests.integration.reads.api import Client
from tests.limits import within

END = 5.0  # seconds; uvicorn would wait for ten


@pytest.fixture
def etcd() -> Iterator[EmbeddedEtcd]:
    with EmbeddedEtcd() as running:
        yield running


def namespaced(server: ApiServer) -> Client:
    client = Client(server, f"ends-{uuid.uuid4().hex[:8]}")
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": client.namespace}}
    assert client.ask("POST", "/api/v1/namespaces", namespace).status == 201
    return client


def test_a_stopped_server_ends_its_watches_cleanly(etcd: EmbeddedEtcd) -> None:
    """Watches that follow the cache, and watches that are served from etcd's history."""
    with api_server("--controllers=-*", etcd_servers=etcd.endpoint) as server:
        client = namespaced(server)
        start = client.put("a")
        client.put("b")
        server.stop()
        server.start()
        with ExitStack() as stack:
            watches = [
                stack.enter_context(client.watch(query))
                for query in ("", f"resourceVersion={start}", "resourceVersion=0")
            ]
            assert watches[1].seen(1)[0][:2] == ("ADDED", "b")
            assert watches[2].seen(2)[0][:2] == ("ADDED", "a")
            with ThreadPoolExecutor() as pool:
                rests = [pool.submit(watch.rest) for watch in watches]
                with within(END):
                    assert server.stop() == 0
            found = [{name for _, name, _ in rest.result()} for rest in rests]
            assert found == [{"a", "b"}, set(), set()]


def test_a_server_can_be_stopped_while_etcd_is_away(etcd: EmbeddedEtcd) -> None:
    with api_server("--controllers=-*", etcd_servers=etcd.endpoint) as server:
        client = namespaced(server)
        client.put("a")
        with client.watch("resourceVersion=0") as watch:
            watch.seen(1)
            etcd.kill()
            with ThreadPoolExecutor() as pool:
                rest = pool.submit(watch.rest)
                with within(END):
                    assert server.stop() == 0
            assert rest.result() == []


def test_several_workers_are_one_server(etcd: EmbeddedEtcd) -> None:
    """The kernel chooses the worker of a connection. A write through one is visible on all."""
    with api_server("--workers=2", "--controllers=-*", etcd_servers=etcd.endpoint) as server, ExitStack() as stack:
        writer = namespaced(server)
        readers = [writer.on(server) for _ in range(8)]
        for each in readers:
            stack.callback(each.close)
        start = writer.put("a")
        watches = [stack.enter_context(each.watch(f"resourceVersion={start}")) for each in readers]
        for number in range(10):
            revision = writer.put("a", str(number))
            for each in readers:
                assert each.get("a").json["data"]["data"] == str(number)
            assert [watch.seen(1) for watch in watches] == [[("MODIFIED", "a", revision)]] * 8
        with ThreadPoolExecutor() as pool:
            rests = [pool.submit(watch.rest) for watch in watches]
            with within(END):
                assert server.stop() == 0
        assert [rest.result() for rest in rests] == [[]] * 8
