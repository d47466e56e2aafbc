"""A start with very many objects: loaded resources are served; the load of one resource is held back for the test."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from apiserver_gateway.testing import ApiServer
from storage.embedded import EmbeddedEtcd
from tests.held import Held
from tests.integration.reads.api import Client
from tests.integration.server.client import Answer, ask
from tests.integration.server.test_while_starting import held, refused, unknown
from tests.until import until

IN_PARTS = {"storage.feed.MANY": -1, "gateway.requests.start_stages.LOAD_TIMEOUT": 0.5}
MAPS = "/api/v1/namespaces/default/configmaps"
COUNT = 40  # more than of any other resource: so they are loaded last
THINGS = "/apis/example.org/v1/things"
BINDINGS = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings"
DEFINITION = {
    "metadata": {"name": "things.example.org"},
    "spec": {
        "group": "example.org",
        "scope": "Cluster",
        "names": {"plural": "things", "kind": "Thing"},
        "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
        ],
    },
}
READER = {
    "metadata": {"name": "reader"},
    "subjects": [{"kind": "User", "name": "ada", "apiGroup": "rbac.authorization.k8s.io"}],
    "roleRef": {"kind": "ClusterRole", "name": "view", "apiGroup": "rbac.authorization.k8s.io"},
}
ADA = {"Impersonate-User": "ada"}


class Pair:
    """A server that loads in parts, and another one on the same etcd that runs all the time."""

    def __init__(self, server: Held, other: ApiServer) -> None:
        self.server, self.other = server, other

    @contextmanager
    def starting(self) -> Iterator[None]:
        """A server that has loaded all resources but ConfigMaps, including CRDs and roles."""
        with held(self.server, "storage.fill", b"/configmaps/", IN_PARTS):
            until(lambda: b"[+]poststarthook/crd-informer-synced ok" in ask(self.server, "GET", "/readyz").body)
            for path in ("/api/v1/pods", "/api/v1/namespaces", THINGS):  # each once it is loaded
                until(lambda path=path: self.get(f"{path}?resourceVersion=0").status == 200)
            until(lambda: ask(self.server, "GET", f"{MAPS}/m-07", headers=ADA).status == 200)
            yield

    def get(self, path: str, **headers: str) -> Answer:
        return ask(self.server, "GET", path, headers={key.replace("_", "-"): text for key, text in headers.items()})


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    (tmp_path / "other").mkdir()
    with EmbeddedEtcd() as etcd:
        other = ApiServer(tmp_path / "other", etcd_servers=etcd.endpoint)
        server = Held(tmp_path, etcd_servers=etcd.endpoint)
        other.start()
        try:
            _fill(other)
            server.start()
            server.stop()
            yield Pair(server, other)
        finally:
            server.stop()
            other.stop()


def _fill(other: ApiServer) -> None:
    made(other, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", DEFINITION)
    until(lambda: ask(other, "GET", THINGS).status == 200)
    made(other, THINGS, {"apiVersion": "example.org/v1", "kind": "Thing", "metadata": {"name": "thing"}})
    made(other, BINDINGS, READER)
    until(lambda: ask(other, "GET", f"{MAPS}/kube-root-ca.crt").status == 200)  # a controller creates it
    until(lambda: ask(other, "GET", MAPS, headers=ADA).status == 200)  # and one gathers the rules of `view`
    for number in range(COUNT):
        made(other, MAPS, {"metadata": {"name": f"m-{number:02d}"}})


def made(server: ApiServer, path: str, obj: object) -> None:
    answer = ask(server, "POST", path, obj)
    assert answer.status == 201, answer.body


def names(answer: Answer) -> list[str]:
    assert answer.status == 200, answer.body
    return [each["metadata"]["name"] for each in answer.json["items"]]


def test_what_is_loaded_is_served_and_nothing_else_is_said_to_be_missing(pair: Pair) -> None:
    with pair.starting():
        ready = pair.get("/readyz")
        assert ready.status == 500 and b"[-]informer-sync failed" in ready.body
        assert "kube-system" in names(pair.get("/api/v1/namespaces"))
        assert "kube-system" in names(pair.get("/api/v1/namespaces?resourceVersion=0"))
        assert pair.get("/api/v1/namespaces/none").status == 404
        assert names(pair.get(THINGS)) == ["thing"] and pair.get(f"{THINGS}/thing").status == 200
        assert any(each["name"] == "example.org" for each in pair.get("/apis").json["groups"])
        with ThreadPoolExecutor(8) as pool:
            waiting = [
                pool.submit(pair.get, path)
                for path in (MAPS, f"{MAPS}?resourceVersion=0", f"{MAPS}?watch=1", f"{MAPS}?labelSelector=a&limit=5")
            ]
            waiting += [
                pool.submit(ask, pair.server, method, path, body)
                for method, path, body in (
                    ("POST", "/api/v1/namespaces", {"metadata": {"name": "new"}}),
                    ("DELETE", "/api/v1/namespaces/default", None),
                    ("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {"spec": {}}),
                )
            ]
            node = pool.submit(
                pair.get, "/api/v1/nodes", Impersonate_User="system:node:n", Impersonate_Group="system:nodes"
            )
            undefined = [pool.submit(pair.get, path) for path in ("/apis/example.com/v1/things", "/metrics")]
            assert all(refused(each.result()) for each in (*waiting, node))
            assert all(unknown(each.result()) for each in undefined)
    until(lambda: pair.get("/readyz").status == 200)
    assert len(names(pair.get(MAPS))) == COUNT + 1


def test_objects_and_pages_come_from_etcd_meanwhile(pair: Pair) -> None:
    with pair.starting():
        for query in ("", "?resourceVersion=0", "?resourceVersion=1"):
            assert pair.get(f"{MAPS}/m-07{query}").json["metadata"]["name"] == "m-07"
            assert pair.get(f"{MAPS}/none{query}").status == 404
        made(pair.other, MAPS, {"metadata": {"name": "m-99"}})
        assert pair.get(f"{MAPS}/m-99").status == 200, "as new as etcd is"
        future = pair.get(f"{MAPS}/m-07?resourceVersion=99999999")
        assert future.status == 504 and "Too large resource version" in future.json["message"]
        page = pair.get(f"{MAPS}?limit=10&resourceVersion=0").json
        assert len(page["items"]) == 10 and page["metadata"]["remainingItemCount"] == COUNT - 8
        found, token = page["items"], page["metadata"]["continue"]
        while token:
            page = pair.get(f"{MAPS}?limit=10&continue={token}").json
            found, token = found + page["items"], page["metadata"].get("continue", "")
    listed = pair.get(MAPS).json["items"]
    assert found == listed, "the same as later"


def test_roles_are_followed_from_the_beginning(pair: Pair) -> None:
    with pair.starting():
        assert ask(pair.server, "GET", f"{MAPS}/m-07", headers=ADA).status == 200
        assert ask(pair.server, "GET", "/api/v1/namespaces/default/secrets/s", headers=ADA).status == 403
        assert ask(pair.other, "DELETE", f"{BINDINGS}/reader").status == 200
        until(lambda: ask(pair.server, "GET", f"{MAPS}/m-07", headers=ADA).status == 403)


def test_changes_meanwhile_are_in_what_is_loaded(pair: Pair) -> None:
    with pair.starting():
        namespaces = Client(pair.server, "default").watch("resourceVersion=0", "/api/v1/namespaces")
        with namespaces as watch:
            made(pair.other, "/api/v1/namespaces", {"metadata": {"name": "late"}})
            until(lambda: ("ADDED", "late") in {each[:2] for each in watch.seen(1)})
        made(pair.other, MAPS, {"metadata": {"name": "m-99"}})
        assert ask(pair.other, "DELETE", f"{MAPS}/m-03").status == 200
        changed = ask(pair.other, "PUT", f"{MAPS}/m-04", {"metadata": {"name": "m-04"}, "data": {"k": "v"}}).json
    kept = pair.get(f"{MAPS}?resourceVersion=0").json["items"]
    assert kept == pair.get(f"{MAPS}?limit=1000").json["items"] == ask(pair.other, "GET", MAPS).json["items"]
    assert changed["data"] in [each.get("data") for each in kept]
    assert all(each["status"] == "success" for each in pair.get("/debug/consistency").json)
    version = changed["metadata"]["resourceVersion"]
    with Client(pair.server, "default").watch(f"resourceVersion={version}", MAPS) as watch:
        made(pair.server, MAPS, {"metadata": {"name": "last"}})
        assert watch.seen(1)[0][:2] == ("ADDED", "last")


def test_a_watch_from_before_the_start_is_told_all_that_came_since(pair: Pair) -> None:
    version = ask(pair.other, "GET", MAPS).json["metadata"]["resourceVersion"]
    made(pair.other, MAPS, {"metadata": {"name": "before"}})
    with pair.starting():
        assert ask(pair.other, "DELETE", f"{MAPS}/m-03").status == 200
        assert ask(pair.other, "PUT", f"{MAPS}/m-04", {"metadata": {"name": "m-04"}, "data": {"k": "v"}}).status == 200
    made(pair.server, MAPS, {"metadata": {"name": "after"}})
    told = [("ADDED", "before"), ("DELETED", "m-03"), ("MODIFIED", "m-04"), ("ADDED", "after")]
    for _ in range(2):
        with Client(pair.server, "default").watch(f"resourceVersion={version}", MAPS) as watch:
            assert [each[:2] for each in watch.seen(4)] == told
