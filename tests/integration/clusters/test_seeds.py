"""A control plane whose first objects are not stored answers as one in which they are."""

from __future__ import annotations

import json
import random
import re
from typing import Any
from urllib.parse import quote

import pytest

from apiserver_gateway.testing import ApiServer, Cluster, ask, wait_for
from apiserver_gateway.testing.clusters import PATH
from apiserver_gateway.testing.connections import SentRequest
from gateway.clusters.definition import MADE
from gateway.clusters.templates import ClusterTemplates
from storage.embedded import binary_version, find_binary
from storage.etcd import EtcdClient, KeyValue
from storage.etcd.operations import put
from storage.keys import prefix_end
from storage.seeded.client import SeededClient
from storage.seeded.contents import Contents
from storage.seeded.seeds import Seeds
from tests.integration.server.client import ask as raw

ROOT = b"/registry-clusters/"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
ROLES, BINDINGS = f"{RBAC}/clusterroles", f"{RBAC}/clusterrolebindings"
NAMES = {
    ROLES: ("system:basic-user", "system:discovery", "system:node", "system:heapster", "new"),
    BINDINGS: ("system:basic-user", "system:discovery", "system:node", "new"),
    f"{RBAC}/namespaces/kube-public/roles": ("system:controller:bootstrap-signer", "new"),
    "/apis/scheduling.k8s.io/v1/priorityclasses": ("system-node-critical", "system-cluster-critical", "new"),
    "/api/v1/namespaces/default/services": ("kubernetes",),
}
KINDS = {"clusterroles": "ClusterRole", "clusterrolebindings": "ClusterRoleBinding", "roles": "Role"}
_UID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_REVISION = re.compile(r'"resourceVersion":"(\d+)"')
_TIME = re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
PATCH = {"merge": "application/merge-patch+json", "json": "application/json-patch+json"}
APPLY = "application/apply-patch+yaml"


async def seeds_of(server: ApiServer, etcd: EtcdClient, cluster: Cluster) -> Seeds:
    uid = ask(server, "GET", f"{PATH}/{cluster.name}")["metadata"]["uid"]
    found = await etcd.get(ROOT + uid.encode() + b"/" + MADE)
    assert found is not None
    seeds = await ClusterTemplates(etcd, ROOT).seeds(uid, found)
    assert seeds is not None
    return seeds


async def store(etcd: EtcdClient, seeds: Seeds) -> None:
    """Stores all seeds as they are, so that nothing is left of them."""
    found = seeds.all_between(seeds.root, prefix_end(seeds.root))
    for start in range(0, len(found), 50):
        some = found[start : start + 50]
        await etcd.txn([], [each for kv in some for each in (put(kv.key, kv.value), put(seeds.mark_of(kv.key), b""))])


class Twin:
    """One of two control planes. What differs between any two (uids, revisions, times) becomes equal in its answers."""

    def __init__(self, server: ApiServer, cluster: Cluster, beginning: set[str]) -> None:
        self.server, self.cluster = server, cluster
        self.uids: dict[str, str] = {}
        self.revisions: dict[str, str] = {}
        self.beginning = beginning
        self.lists: list[str] = []  # the revisions of lists
        self.states: dict[str, dict[str, Any]] = {}  # objects as they were read last

    def ask(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> Any:
        below = f"/clusters/{self.cluster.name}{path}"
        answer = raw(self.server, method, below, body, token=self.cluster.token, headers={"Content-Type": kind})
        found = answer.json
        meta = found.get("metadata") or {}
        if found["kind"].endswith("List"):
            self.lists.append(meta.pop("resourceVersion"))
            going_on = meta.pop("continue", "")
            if going_on:
                limit = re.search(r"limit=\d+", path)
                assert limit is not None
                more = self.ask(method, f"{path.partition('?')[0]}?{limit.group()}&continue={quote(going_on)}")
                return [answer.status, self.same(found), *more]
        elif "uid" in meta:
            self.states[path.partition("?")[0]] = json.loads(answer.body)
        return [answer.status, self.same(found)]

    def same(self, found: Any) -> str:
        text = json.dumps(found, sort_keys=True, separators=(",", ":"))
        text = _UID.sub(lambda each: self.uids.setdefault(each.group(), f"uid{len(self.uids)}"), text)
        text = _REVISION.sub(lambda each: f'"resourceVersion":"{self.revision(each[1])}"', text)
        text = re.sub(r"(the ResourceVersion in (?:the precondition|record)) \(\d+\)", r"\1", text)
        return _TIME.sub("time", text).replace(self.cluster.name, "NAME")

    def revision(self, revision: str) -> str:
        if revision in self.beginning:
            return "beginning"
        return self.revisions.setdefault(revision, f"revision{len(self.revisions)}")


def request(choice: random.Random, step: int) -> Any:
    """A request, as a function of the twin that is asked."""
    path = choice.choice([*NAMES])
    name = choice.choice(NAMES[path])
    one, label = f"{path}/{name}", {"metadata": {"labels": {"step": f"s{choice.randrange(3)}"}}}
    stale, place = choice.random() < 0.3, choice.random()
    new = {**label, "metadata": {**label["metadata"], "name": name}}
    if path.endswith("priorityclasses"):
        new["value"] = 5
    elif path.endswith("bindings"):
        new["roleRef"] = {"apiGroup": RBAC.split("/")[2], "kind": "ClusterRole", "name": "view"}  # type: ignore[dict-item]

    def preconditions(twin: Twin, of: str) -> Any:
        value = "0" if stale else (twin.states.get(one) or {"metadata": {}})["metadata"].get(of, "0")
        return {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {of: value}}

    def update(twin: Twin) -> Any:
        state = json.loads(json.dumps(twin.states.get(one) or new))
        state["metadata"]["labels"] = {**state["metadata"].get("labels", {}), "updated": str(step)}
        if not stale:
            state["metadata"].pop("resourceVersion", None)
        return twin.ask("PUT", one, state)

    def applied(twin: Twin) -> Any:
        kind = KINDS.get(path.rpartition("/")[2])
        if kind is None:
            return twin.ask("GET", one)
        body = {"apiVersion": RBAC.removeprefix("/apis/"), "kind": kind, **new}
        return twin.ask("PATCH", f"{one}?fieldManager=m{step % 2}&force={str(not stale).lower()}", body, APPLY)

    def past(twin: Twin) -> Any:
        revision = twin.lists[int(place * len(twin.lists))]
        return twin.ask("GET", f"{path}?resourceVersion={revision}&resourceVersionMatch=Exact&limit={1 + step % 7}")

    removal = [
        {"op": "test", "path": "/metadata/labels/step", "value": "s1"},
        {"op": "remove", "path": "/metadata/labels"},
    ]
    return choice.choice(
        [
            lambda twin: twin.ask("GET", one),
            lambda twin: twin.ask("GET", path),
            lambda twin: twin.ask("GET", f"{path}?limit={1 + step % 9}"),
            lambda twin: twin.ask("GET", f"{path}?labelSelector=step%3Ds1"),
            lambda twin: twin.ask("GET", f"{path}?resourceVersion=0"),
            past,
            past,
            lambda twin: twin.ask("POST", path, new),
            update,
            lambda twin: twin.ask("PATCH", one, label, PATCH["merge"]),
            lambda twin: twin.ask("PATCH", one, removal, PATCH["json"]),
            applied,
            lambda twin: twin.ask("DELETE", one),
            lambda twin: twin.ask("DELETE", one, preconditions(twin, "uid")),
            lambda twin: twin.ask("DELETE", one, preconditions(twin, "resourceVersion")),
            lambda twin: twin.ask("DELETE", f"{path}?labelSelector=step%3Ds2"),
        ]
    )


@pytest.mark.parametrize("number", range(4))
async def test_it_answers_as_one_with_all_stored(server: ApiServer, etcd: EtcdClient, number: int) -> None:
    choice = random.Random(number)
    with server.cluster() as seeded, server.cluster() as stored:
        twins = []
        for cluster in (seeded, stored):
            seeds = await seeds_of(server, etcd, cluster)
            if cluster is stored:
                await store(etcd, seeds)
            for namespace in ("default", "kube-system", "kube-public", "kube-node-lease"):
                wait_for(cluster, f"/api/v1/namespaces/{namespace}/serviceaccounts/default", bool)
            kept = await etcd.range(seeds.root, prefix_end(seeds.root), keys_only=True)
            revisions = {str(kv.mod_revision) for kv in kept.kvs} | {str(seeds.revision)}
            twins.append(Twin(server, cluster, revisions))
        for path in NAMES:
            assert twins[0].ask("GET", path) == twins[1].ask("GET", path)
        begun = [twin.lists[-1] for twin in twins]
        for step in range(80):
            run = request(choice, step)
            one, other = (run(twin) for twin in twins)
            assert one == other, step
        for twin in twins:
            twin.ask("POST", ROLES, {"metadata": {"name": "last"}})
        found = [events(twin, begun[place]) for place, twin in enumerate(twins)]
        assert found[0] == found[1]


def events(twin: Twin, revision: str) -> list[str]:
    """All events of cluster roles from a revision to the creation of the last one."""
    asked = SentRequest("GET", f"{ROLES}?watch=true&resourceVersion={revision}", None, twin.cluster.token)
    found: list[str] = []
    with twin.cluster.connections.answer(twin.cluster, asked, 60) as answered:
        while not found or '"name":"last"' not in found[-1]:
            found.append(twin.same(json.loads(answered.readline())))
    return found


async def test_a_watch_from_the_beginning_tells_all_of_them(server: ApiServer, etcd: EtcdClient) -> None:
    """The history of the cache does not reach back so far: the events come from etcd's."""
    with server.cluster() as cluster:
        seeds = await seeds_of(server, etcd, cluster)
        twin = Twin(server, cluster, set())
        twin.ask("DELETE", f"{ROLES}/system:node")
        twin.ask("PATCH", f"{ROLES}/system:heapster", {"metadata": {"labels": {"a": "b"}}}, PATCH["merge"])
        ask(cluster, "POST", ROLES, {"metadata": {"name": "last"}})
        told = events(twin, str(seeds.revision - 1))
        types = [json.loads(each)["type"] for each in told]
        count = len(seeds.between(seeds.root + b"clusterroles/", seeds.root + b"clusterroles0"))
        assert types == ["ADDED"] * count + ["DELETED", "MODIFIED", "ADDED"]
        assert events(twin, str(seeds.revision)) == told[count:]


async def test_few_keys_are_stored(server: ApiServer, etcd: EtcdClient) -> None:
    with server.cluster() as cluster:
        seeds = await seeds_of(server, etcd, cluster)
        assert (await etcd.range(seeds.root, prefix_end(seeds.root), count_only=True)).count == 1
        for namespace in ("default", "kube-system", "kube-public", "kube-node-lease"):
            wait_for(cluster, f"/api/v1/namespaces/{namespace}/serviceaccounts/default", bool)
            wait_for(cluster, f"/api/v1/namespaces/{namespace}/configmaps/kube-root-ca.crt", bool)
        found = await etcd.range(seeds.root, prefix_end(seeds.root))
        assert found.count <= 20
        assert sum(len(kv.key) + len(kv.value) for kv in found.kvs) <= 20_000


async def test_a_change_by_another_process_is_told(server: ApiServer, etcd: EtcdClient) -> None:
    """As that of another replica: only the watch on etcd brings it."""
    with server.cluster() as cluster:
        seeds = await seeds_of(server, etcd, cluster)
        begun = ask(cluster, "GET", ROLES)["metadata"]["resourceVersion"]
        gone, kept = (seeds.root + b"clusterroles/" + name for name in (b"system:node", b"system:heapster"))
        await etcd.txn([], [put(seeds.mark_of(gone), b"")])
        before = seeds.get(kept)
        assert before is not None
        value = before.value.replace(b'"name":"system:heapster"', b'"name":"system:heapster"', 1)
        await etcd.txn([], [put(kept, value), put(seeds.mark_of(kept), b"")])
        ask(cluster, "POST", ROLES, {"metadata": {"name": "last"}})
        found = [json.loads(each) for each in events(Twin(server, cluster, set()), begun)]
        told = [(each["type"], each["object"]["metadata"]["name"]) for each in found]
        assert told == [("DELETED", "system:node"), ("MODIFIED", "system:heapster"), ("ADDED", "last")]
        assert raw(server, "GET", f"/clusters/{cluster.name}{ROLES}/system:node", token=cluster.token).status == 404


async def test_a_seed_that_another_program_has_written_is_one_object(etcd_client: EtcdClient, prefix: bytes) -> None:
    """Without a mark. What is stored counts."""
    born = KeyValue(prefix + b"born", b"", await etcd_client.revision(), 1, 1)
    client = SeededClient(etcd_client, Seeds(prefix, born, Contents([b"a/1", b"a/2", b"a/3"]), lambda place: b"seed"))
    for name in (b"0", b"2", b"4"):
        await etcd_client.put(prefix + b"a/" + name, b"stored")
    wanted = [(b"0", b"stored"), (b"1", b"seed"), (b"2", b"stored"), (b"3", b"seed"), (b"4", b"stored")]
    found = await client.prefix(prefix + b"a/")
    assert ([(kv.key[-1:], kv.value) for kv in found.kvs], found.count) == (wanted, 5)
    if binary_version(find_binary()) >= (3, 7, 0):  # others stream no range
        streamed = client.stream(prefix + b"a/", prefix + b"a0", revision=found.revision)
        assert [(kv.key[-1:], kv.value) async for kvs in streamed for kv in kvs] == wanted
    for limit in range(1, 5):
        page = await client.prefix(prefix + b"a/", limit=limit)
        assert [(kv.key[-1:], kv.value) for kv in page.kvs] == wanted[:limit] and page.more
    one = await client.range(prefix + b"a/2")
    assert (one.count, one.kvs[0].value) == (1, b"stored")
