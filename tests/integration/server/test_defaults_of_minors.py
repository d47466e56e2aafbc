"""Objects that a server of 1.36 has stored have the defaults of 1.37 where that is served, as with kube-apiserver.

Which requests store such an object anew was asked of a kube-apiserver of 1.37.2 on the etcd of one of 1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer
from apiserver_gateway.testing import api_server as whole_server
from gateway.jsontypes import loads
from storage.embedded import EmbeddedEtcd
from storage.etcd import EtcdClient, EtcdSettings
from tests.forked import api_server
from tests.integration.server.client import ask
from tests.integration.testing.watching import watching

SETS = "/apis/apps/v1/namespaces/default/statefulsets"
DRIVERS, NODES = "/apis/storage.k8s.io/v1/csidrivers", "/apis/storage.k8s.io/v1/csinodes"
EARLIER, PLAIN = "--kubernetes-version=1.36", "--controllers=-*"
MERGE = {"Content-Type": "application/merge-patch+json"}
APPLY = {"Content-Type": "application/apply-patch+yaml"}
LABELS = {"app": "a"}
SET: Any = {
    "spec": {
        "selector": {"matchLabels": LABELS},
        "template": {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
    }
}
MADE: dict[str, Any] = {SETS: SET, DRIVERS: {"spec": {}}, NODES: {"spec": {"drivers": []}}}
APPLIED = {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": "applied"}, "spec": {}}
TIMEOUT = 60.0  # seconds that etcd may take on a busy machine


def default_of(collection: str, obj: Any) -> Any:
    """What 1.37 adds to an object of a collection; None if it is not there."""
    if collection == SETS:
        return obj["spec"]["updateStrategy"]["rollingUpdate"].get("maxUnavailable")
    return obj["spec"].get("preventPodSchedulingIfMissing") if collection == DRIVERS else obj.get("status")


DEFAULTS = {SETS: 1, DRIVERS: False, NODES: {}}


def read(server: ApiServer, method: str, path: str, body: Any = None, **rest: Any) -> Any:
    answer = ask(server, method, path, body, **rest)
    assert answer.status < 300, answer.json
    return answer.json


def version(obj: Any) -> str:
    return str(obj["metadata"]["resourceVersion"])


def apply(server: ApiServer) -> Any:
    return read(server, "PATCH", f"{DRIVERS}/applied?fieldManager=m&force=true", APPLIED, headers=APPLY)


def first_events(server: ApiServer, collection: str, count: int) -> list[Any]:
    """The objects with which a watch begins."""
    with watching(server, collection, "resourceVersion=0") as events:
        return [events.next()["object"] for _ in range(count)]


async def stored(etcd: EmbeddedEtcd, key: str) -> Any:
    async with EtcdClient(EtcdSettings((etcd.endpoint,), timeout=TIMEOUT)) as client:
        (found,) = (await client.range(f"/registry/{key}".encode())).kvs
        return loads(found.value)


def made_before(etcd: EmbeddedEtcd) -> dict[str, Any]:
    """Objects that a server of 1.36 has made, by collection."""
    with api_server(PLAIN, EARLIER, etcd_servers=etcd.endpoint) as server:
        apply(server)
        for name in ("put", "patched", "left"):
            for collection, body in MADE.items():
                read(server, "POST", collection, {**body, "metadata": {"name": name}})
        found = {each: read(server, "GET", each) for each in MADE}
    assert not any(default_of(each, obj) is not None for each, listed in found.items() for obj in listed["items"])
    return found


def shows_defaults(server: ApiServer, before: dict[str, Any]) -> None:
    """Each way to read shows the defaults, at the same versions as before."""
    for collection, default in DEFAULTS.items():
        older = before[collection]
        versions = {obj["metadata"]["name"]: version(obj) for obj in older["items"]}
        exact = f"{collection}?resourceVersionMatch=Exact&resourceVersion={version(older)}"
        listed = read(server, "GET", collection)["items"]
        ways = [listed, read(server, "GET", exact)["items"], first_events(server, collection, len(listed))]
        ways.append([read(server, "GET", f"{collection}/{name}") for name in versions])
        for way in ways:
            assert {obj["metadata"]["name"]: version(obj) for obj in way} == versions
            assert all(default_of(collection, obj) == default for obj in way)
            assert [obj["metadata"].get("managedFields") for obj in listed] == [
                obj["metadata"].get("managedFields") for obj in older["items"]
            ]


@pytest.fixture(scope="module")
def older() -> Iterator[ApiServer]:
    """A server of 1.37 on the etcd of one of 1.36."""
    with EmbeddedEtcd() as etcd:
        made_before(etcd)
        with api_server(PLAIN, etcd_servers=etcd.endpoint) as server:
            yield server


def test_workers_read_older_objects_as_one_process_does() -> None:
    with EmbeddedEtcd() as etcd:
        before = made_before(etcd)
        with whole_server(PLAIN, "--workers=2", etcd_servers=etcd.endpoint) as server:
            for _ in range(3):  # connections go to either worker
                shows_defaults(server, before)


@pytest.mark.parametrize("collection", MADE)
def test_a_write_that_changes_nothing_stores_the_default_once(older: ApiServer, collection: str) -> None:
    for name, send in (
        ("put", lambda path: read(older, "PUT", path, read(older, "GET", path))),
        ("patched", lambda path: read(older, "PATCH", path, {}, headers=MERGE)),
    ):
        path = f"{collection}/{name}"
        before = read(older, "GET", path)
        dry = read(older, "PUT", f"{path}?dryRun=All", before)
        assert version(dry) == version(before) and default_of(collection, dry) == DEFAULTS[collection]
        written = send(path)
        assert version(written) != version(before)
        assert {**written, "metadata": {**written["metadata"], "resourceVersion": version(before)}} == before
        assert send(path) == written == read(older, "GET", path)


def test_a_repeated_apply_stores_the_default_once(older: ApiServer) -> None:
    before = read(older, "GET", f"{DRIVERS}/applied")
    applied = apply(older)
    assert (
        version(applied) != version(before)
        and applied["metadata"]["managedFields"] == before["metadata"]["managedFields"]
    )
    assert apply(older) == apply(older) == applied


async def test_reading_writes_nothing_and_an_earlier_minor_shows_what_it_knows() -> None:
    with EmbeddedEtcd() as etcd:
        before = made_before(etcd)
        keys = {SETS: "statefulsets/default/left", DRIVERS: "csidrivers/left", NODES: "csinodes/left"}
        there = {each: await stored(etcd, key) for each, key in keys.items()}
        with api_server(PLAIN, etcd_servers=etcd.endpoint) as server:
            shows_defaults(server, before)
            assert {each: await stored(etcd, key) for each, key in keys.items()} == there
            for collection in MADE:
                read(server, "PATCH", f"{collection}/left", {"metadata": {"labels": LABELS}}, headers=MERGE)
        for collection, key in keys.items():
            assert default_of(collection, await stored(etcd, key)) == DEFAULTS[collection]
        with api_server(PLAIN, EARLIER, etcd_servers=etcd.endpoint) as server:
            for collection in MADE:
                shown = default_of(collection, read(server, "GET", f"{collection}/left"))
                assert shown == (None if collection == NODES else DEFAULTS[collection])
            assert await stored(etcd, keys[NODES]) != there[NODES]
