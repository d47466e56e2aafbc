"""Events in their own etcd: --etcd-servers-overrides with two real etcds, one of which stops."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer
from storage.embedded import EmbeddedEtcd
from tests.integration.reads.api import Client, on_etcd, version
from tests.integration.server.client import ask
from tests.integration.server.test_start import refusal
from tests.until import until

# in a process of its own, as in test_etcd3.py
OTHER_CLIENT = """
import json, sys
import etcd3
host, port = sys.argv[1:]
client = etcd3.client(host=host, port=int(port))
found = {meta.key.decode(): [meta.mod_revision, meta.lease_id and client.get_lease_info(meta.lease_id).TTL]
         for value, meta in client.get_prefix("/registry/")}
print(json.dumps(found))
"""


def keys(etcd: EmbeddedEtcd) -> dict[str, list[int]]:
    """All keys with their revision and remaining time to live (0: for ever), read by PyPI's etcd3."""
    host, _, port = etcd.endpoint.replace("unix://", "unix:").rpartition(":")
    other = subprocess.run(
        [sys.executable, "-c", OTHER_CLIENT, host, port],
        env={**os.environ, "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": "python"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert other.returncode == 0, other.stderr
    found: dict[str, list[int]] = json.loads(other.stdout)
    return found


class Etcds:
    """An etcd for events, and one for all else."""

    def __init__(self, all: EmbeddedEtcd, events: EmbeddedEtcd) -> None:
        self.all, self.events = all, events
        self.override = f"--etcd-servers-overrides=/events#{events.endpoint}"

    @contextmanager
    def server(self, directory: Path, *flags: str) -> Iterator[ApiServer]:
        server = ApiServer(directory, (self.override, *flags), self.all.endpoint)
        server.start()
        try:
            yield server
        finally:
            server.stop()


@pytest.fixture
def etcds(tmp_path: Path) -> Iterator[Etcds]:
    with EmbeddedEtcd() as all, EmbeddedEtcd(data_dir=tmp_path / "events") as events:
        yield Etcds(all, events)


@pytest.fixture
def server(etcds: Etcds, tmp_path: Path) -> Iterator[ApiServer]:
    with etcds.server(tmp_path) as server:
        yield server


EVENTS = "/api/v1/namespaces/default/events"


def event(server: ApiServer, name: str) -> int:
    """Creates an event. Returns its resourceVersion."""
    about = {"kind": "Pod", "namespace": "default", "name": "p"}
    body = {"metadata": {"name": name}, "involvedObject": about, "reason": "R", "type": "Normal"}
    answer = ask(server, "POST", EVENTS, body)
    assert answer.status == 201, answer.body
    return int(answer.json["metadata"]["resourceVersion"])


def names(server: ApiServer) -> list[str]:
    answer = ask(server, "GET", EVENTS)
    assert answer.status == 200, answer.body
    return [each["metadata"]["name"] for each in answer.json["items"]]


def test_events_alone_are_there_under_its_revisions(etcds: Etcds, server: ApiServer) -> None:
    client = Client(server, "default")
    for number in range(30):  # the revisions of both etcds are unrelated
        client.put(f"m-{number}")
    first = event(server, "a")
    with client.watch(f"resourceVersion={first}", EVENTS) as watch:
        second = event(server, "b")
        assert watch.seen(1) == [("ADDED", "b", second)]
        patched = ask(
            server,
            "PATCH",
            f"{EVENTS}/a",
            {"message": "again"},
            headers={"Content-Type": "application/merge-patch+json"},
        )
        third = int(patched.json["metadata"]["resourceVersion"])
        assert watch.seen(1) == [("MODIFIED", "a", third)]
    there = keys(etcds.events)
    assert there["/registry/events/default/b"][0] == second and there["/registry/events/default/a"][0] == third
    assert all(3500 < there[f"/registry/events/default/{name}"][1] <= 3660 for name in "ab"), "they expire there"
    assert not [key for key in there if not key.startswith(("/registry/events/", "/registry/gateway/"))]
    assert not [key for key in keys(etcds.all) if key.startswith("/registry/events/")]
    listed = ask(server, "GET", "/apis/events.k8s.io/v1/namespaces/default/events")
    assert sorted(each["metadata"]["name"] for each in listed.json["items"]) == ["a", "b"]
    assert third <= version(listed) < version(client.list()), "each resource has the revisions of its etcd"


def test_what_one_has_compacted_the_other_may_have(etcds: Etcds, server: ApiServer) -> None:
    client = Client(server, "default")
    began, old = client.put("m"), event(server, "a")
    last = [event(server, name) for name in ("b", "c", "d")][-1]
    client.close()
    server.stop()
    on_etcd(etcds.events.endpoint, lambda etcd: etcd.compact(last))
    server.start()
    with client.watch(f"resourceVersion={old}", EVENTS) as watch:
        assert watch.rest() == [("ERROR", "Expired", 410)]
    exact = ask(server, "GET", f"{EVENTS}?resourceVersion={old}&resourceVersionMatch=Exact")
    assert (exact.status, exact.json["reason"]) == (410, "Expired")
    with client.watch(f"fieldSelector=metadata.name=n&resourceVersion={began}") as watch:
        new = client.put("n")
        assert watch.seen(1) == [("ADDED", "n", new)]


def test_a_watch_goes_on_after_a_restart(server: ApiServer) -> None:
    before = event(server, "a")
    server.kill()
    server.start()
    assert names(server) == ["a"]
    with Client(server, "default").watch(f"resourceVersion={before}", EVENTS) as watch:
        after = event(server, "b")
        assert watch.seen(1) == [("ADDED", "b", after)]


def test_the_others_go_on_without_it(etcds: Etcds, server: ApiServer) -> None:
    client = Client(server, "default")
    began = client.put("before")
    event(server, "a")
    etcds.events.pause()
    with client.watch(f"fieldSelector=metadata.name=after&resourceVersion={began}") as watch:
        after = client.put("after")
        assert watch.seen(1) == [("ADDED", "after", after)]
    assert ask(server, "GET", EVENTS).status >= 500
    until(lambda: b"[+]etcd ok" in ask(server, "GET", "/readyz").body)  # in its time, on a busy machine too
    ready = ask(server, "GET", "/readyz")
    assert ready.status == 500
    assert b"[-]etcd-override-0 failed" in ready.body
    assert b"[-]etcd-override-readiness-0 failed" in ready.body
    until(lambda: ask(server, "GET", "/livez?exclude=etcd-override-0").status == 200)
    etcds.events.resume()
    until(lambda: ask(server, "GET", "/readyz").status == 200)
    event(server, "b")
    assert names(server) == ["a", "b"]


def test_a_start_does_not_wait_for_it(etcds: Etcds, tmp_path: Path) -> None:
    with etcds.server(tmp_path) as server:
        event(server, "a")
        server.stop()
        etcds.events.stop()
        server.start()
        Client(server, "default").put("m")
        paths = [
            EVENTS + query for query in ("", "?resourceVersion=0", "?watch=1&timeoutSeconds=1", "/a?resourceVersion=0")
        ]
        with ThreadPoolExecutor(len(paths)) as pool:  # each waits for etcd for some seconds
            found = dict(zip(paths, pool.map(lambda path: ask(server, "GET", path).status, paths), strict=True))
        assert min(found.values()) >= 500, f"nothing that it has not seen is said to be empty: {found}"
        until(lambda: "waiting for etcd" in server.log_file.read_text())
        etcds.events.start()
        until(lambda: ask(server, "GET", "/readyz").status == 200)
        assert names(server) == ["a"]


def test_a_namespace_goes_with_its_events(etcds: Etcds, server: ApiServer) -> None:
    """The namespace controller writes with the fence of a lease that is in the other etcd."""
    assert ask(server, "POST", "/api/v1/namespaces", {"metadata": {"name": "gone"}}).status == 201
    path = "/api/v1/namespaces/gone/events"
    body = {"metadata": {"name": "e"}, "involvedObject": {"kind": "Pod", "namespace": "gone", "name": "p"}}
    assert ask(server, "POST", path, body).status == 201
    assert ask(server, "DELETE", "/api/v1/namespaces/gone").status == 200
    until(lambda: ask(server, "GET", "/api/v1/namespaces/gone").status == 404)
    assert "/registry/events/gone/e" not in keys(etcds.events)


def test_each_is_checked_measured_and_compacted(etcds: Etcds, tmp_path: Path) -> None:
    flags = "--etcd-compaction-interval=1s", "--etcd-compaction-retention=1s", "--etcd-db-metric-poll-interval=1s"
    with etcds.server(tmp_path, *flags) as server:
        last = event(server, "a")
        found = checked(server)
        assert found["/registry/events/"]["status"] == found["/registry/configmaps/"]["status"] == "success"
        assert last <= found["/registry/events/"]["revision"] < found["/registry/configmaps/"]["revision"]
        sizes = [b'apiserver_storage_size_bytes{storage_cluster_id="etcd-%d"}' % number for number in (0, 1)]
        until(lambda: all(map(ask(server, "GET", "/metrics").body.__contains__, sizes)))
        until(lambda: _is_compacted(etcds.events, last))


def checked(server: ApiServer) -> dict[str, Any]:
    """The result of a check, by prefix. It is repeated if etcd had compacted the revision."""
    found: dict[str, Any] = {}

    def is_told() -> bool:
        found.update({each["prefix"]: each for each in ask(server, "GET", "/debug/consistency").json})
        return all(each["status"] != "error" for each in found.values())

    until(is_told)
    return found


def _is_compacted(etcd: EmbeddedEtcd, revision: int) -> bool:
    from storage.errors import Compacted

    try:
        on_etcd(etcd.endpoint, lambda client: client.range(b"x", revision=revision))
    except Compacted:
        return True
    return False


@pytest.mark.parametrize("flags", [["--workers=2"], ["--workers=2", "--shared-cache"]])
def test_all_workers_have_both(etcds: Etcds, tmp_path: Path, flags: list[str]) -> None:
    with etcds.server(tmp_path, *flags) as server, ExitStack() as opened:
        watches = [opened.enter_context(Client(server, "default").watch("", EVENTS)) for _ in range(6)]
        revision = event(server, "a")
        assert [watch.seen(1) for watch in watches] == [[("ADDED", "a", revision)]] * 6
        Client(server, "default").put("m")
        assert names(server) == ["a"]


def test_what_cannot_be_apart_is_refused(tmp_path: Path) -> None:
    flags = "--etcd-servers=http://127.0.0.1:1", f"--cert-dir={tmp_path}"
    assert refusal(*flags, "--etcd-servers-overrides=/namespaces#http://127.0.0.1:2").startswith(
        "--etcd-servers-overrides: /namespaces must be in the etcd of --etcd-servers: "
    )
    assert "is not a stored resource" in refusal(*flags, "--etcd-servers-overrides=/nothing#http://127.0.0.1:2")
    assert "is stored as /events" in refusal(*flags, "--etcd-servers-overrides=events.k8s.io/events#http://127.0.0.1:2")
    assert refusal(*flags, "--testing-api", "--etcd-servers-overrides=/events#http://127.0.0.1:2").startswith(
        "--testing-api works with one etcd only"
    )
