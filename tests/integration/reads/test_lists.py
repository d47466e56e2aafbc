"""Gets and lists, with the writes going through another process."""

from __future__ import annotations

import json

import pytest

from apiserver_gateway.testing import ApiServer
from storage.embedded import EmbeddedEtcd
from storage.etcd import EtcdClient
from tests.forked import api_server
from tests.integration.reads.api import Client, names, on_etcd, version
from tests.integration.reads.conftest import Replicas
from tests.until import until

EXACT, NOT_OLDER = "resourceVersionMatch=Exact", "resourceVersionMatch=NotOlderThan"


def test_a_read_never_returns_less_than_what_was_acknowledged_elsewhere(one: Client, other: Client) -> None:
    for number in range(40):
        revision = one.put("a", str(number))
        found = other.get("a")
        assert (found.json["data"]["data"], version(found)) == (str(number), revision)
        listed = other.list()
        assert version(listed) >= revision and listed.json["items"][0]["data"]["data"] == str(number)
        one.put(f"b{number}")
        one.delete(f"b{number}")
        assert other.get(f"b{number}").status == 404
    assert names(other.list()) == ["a"]


def test_a_collection_is_deleted_as_it_was_at_a_version(one: Client) -> None:
    first = one.put("a")
    one.put("b")
    answer = one.ask("DELETE", f"{one.path}?resourceVersion={first}")
    assert (answer.status, names(answer)) == (200, ["a"])
    assert names(one.list()) == ["b"]


def test_which_state_a_list_shows(one: Client, other: Client) -> None:
    for name in "abcd":
        old = one.put(name)
    one.delete("a")
    new = one.put("e")
    for query, found, exactly in (
        ("", "bcde", 0),
        ("resourceVersion=", "bcde", 0),
        ("limit=3", "bcd", 0),
        (f"resourceVersion={new}", "bcde", 0),
        (f"resourceVersion={new}&{NOT_OLDER}", "bcde", 0),
        (f"resourceVersion={old}&{NOT_OLDER}&limit=2", "bc", 0),
        (f"resourceVersion={old}&{EXACT}", "abcd", old),
        (f"resourceVersion={old}&limit=3", "abc", old),
        (f"resourceVersion={old}&{EXACT}&limit=3", "abc", old),
        (f"resourceVersion={new}&{EXACT}", "bcde", new),
        ("resourceVersion=0", "bcde", 0),
        ("resourceVersion=0&limit=2", "bcde", 0),
        (f"resourceVersion=0&{NOT_OLDER}", "bcde", 0),
    ):
        answer = other.list(query)
        assert (names(answer), query) == (list(found), query)
        assert version(answer) == exactly if exactly else version(answer) >= new, query


@pytest.mark.parametrize(
    ("query", "status"),
    [
        (EXACT, 422),
        (NOT_OLDER, 422),
        (f"resourceVersion=0&{EXACT}", 422),
        ("resourceVersion=1&resourceVersionMatch=Newest", 422),
        ("sendInitialEvents=true", 422),
        ("resourceVersion=x", 400),
        ("resourceVersion=-1", 400),
        ("continue=x", 400),
        ("limit=x", 400),
        ("labelSelector=a=b=c", 400),
        ("fieldSelector=data=x", 400),
    ],
)
def test_lists_that_cannot_be_read(one: Client, query: str, status: int) -> None:
    answer = one.list(query)
    assert (answer.status, answer.json["kind"]) == (status, "Status")


def test_a_token_at_version_0_answers_the_whole_remainder(one: Client) -> None:
    for name in "abcd":
        one.put(name)
    token = one.ask("GET", f"{one.path}?limit=1").json["metadata"]["continue"]
    rest = one.ask("GET", f"{one.path}?limit=1&resourceVersion=0&continue={token}").json
    assert [each["metadata"]["name"] for each in rest["items"]] == ["b", "c", "d"]
    assert "continue" not in rest["metadata"]


def test_a_version_that_is_not_there_yet(one: Client) -> None:
    future = one.put("a") + 10**6
    for answer in (one.list(f"resourceVersion={future}&{EXACT}"), one.get("a", f"resourceVersion={future}")):
        assert (answer.status, answer.headers["retry-after"]) == (504, "1")
        assert answer.json["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"


@pytest.mark.parametrize("selector", ["", "labelSelector=app%3Dweb"])
def test_chunks_of_one_snapshot_on_changing_replicas(one: Client, other: Client, selector: str) -> None:
    for name in "abcdefg":
        one.put(name, app="db" if name == "c" else "web")
    found, counts, token, revisions = [], [], "", set()
    for turn in range(9):
        answer = (one, other)[turn % 2].list(f"limit=2&{selector}&continue={token}")
        found += names(answer)
        metadata = answer.json["metadata"]
        revisions.add(metadata["resourceVersion"])
        counts.append(metadata.get("remainingItemCount"))
        token = metadata.get("continue", "")
        if not token:
            break
        one.delete("bdf"[turn])
        one.put(f"z{turn}", app="web")
    assert "".join(found) == ("abdefg" if selector else "abcdefg")
    assert len(revisions) == 1
    assert counts == ([None] * 3 if selector else [5, 3, 1, None])
    assert len(names(other.list())) == 7, "which is what is there now"


def test_a_compaction_ends_continue_tokens_on_every_replica() -> None:
    """Also if the history of a replica still has the version."""
    flags = "--etcd-compaction-retention=1s", "--controllers=-*"
    with (
        EmbeddedEtcd() as etcd,
        api_server("--etcd-compaction-interval=0", *flags, etcd_servers=etcd.endpoint) as idle,
    ):
        client = Client(idle, "listed")
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": client.namespace}}
        assert client.ask("POST", "/api/v1/namespaces", namespace).status == 201
        old = [client.put(name) for name in "abc"][-1]
        token = client.list("limit=1").json["metadata"]["continue"]
        with api_server("--etcd-compaction-interval=1s", *flags, etcd_servers=etcd.endpoint) as compacting:
            for each in (client.on(compacting), client):
                until(lambda each=each: each.list(f"limit=1&continue={token}").status == 410)
                again = each.list(f"limit=1&continue={token}").json["metadata"]["continue"]
                assert names(each.list(f"limit=1&continue={again}")) == ["b"]
                assert each.list(f"resourceVersion={old}&{EXACT}").status == 410
                assert names(each.list(f"resourceVersion={old}&{NOT_OLDER}")) == ["a", "b", "c"]
                each.close()


def restarted(server: ApiServer) -> None:
    server.kill()
    server.start()


def test_what_etcd_remembers_is_answered_after_a_restart_and_what_it_forgot_is_gone(
    one: Client, other: Client, replicas: Replicas
) -> None:
    for name in "abc":
        old = one.put(name)
    token = one.list("limit=1").json["metadata"]["continue"]
    one.delete("b")
    last = one.put("d")
    restarted(replicas.other)
    other.close()
    assert names(other.list(f"resourceVersion={old}&{EXACT}")) == ["a", "b", "c"]
    assert names(other.list(f"limit=1&continue={token}")) == ["b"]
    on_etcd(replicas.etcd.endpoint, lambda client: client.compact(last))
    assert names(one.list(f"resourceVersion={old}&{EXACT}")) == ["a", "b", "c"], "it is in the history of this replica"
    restarted(replicas.other)
    other.close()
    gone = other.list(f"resourceVersion={old}&{EXACT}")
    assert (gone.status, gone.json["reason"]) == (410, "Expired")
    gone = other.list(f"limit=1&continue={token}")
    assert (gone.status, gone.json["reason"]) == (410, "Expired")
    again = gone.json["metadata"]["continue"]
    answer = other.list(f"limit=1&continue={again}")
    assert (names(answer), version(answer) >= last) == (["c"], True)
    assert names(other.list(f"continue={answer.json['metadata']['continue']}")) == ["d"]


def test_an_object_of_another_writer_is_served_as_if_it_were_ours(
    one: Client, other: Client, replicas: Replicas
) -> None:
    """Its value in etcd is not canonical, lacks defaults, and has a meaningless resourceVersion."""
    pod = {
        "metadata": {"resourceVersion": "7", "name": "a", "namespace": one.namespace, "uid": "u-1"},
        "spec": {"containers": [{"image": "nginx", "name": "c"}]},
        "kind": "Pod",
        "apiVersion": "v1",
    }
    key = f"/registry/pods/{one.namespace}/a".encode()
    path = f"/api/v1/namespaces/{one.namespace}/pods"
    with other.watch("resourceVersion=0", path=path) as watch:

        async def put(client: EtcdClient) -> int:
            return (await client.put(key, json.dumps(pod, indent=1).encode())).revision

        revision = on_etcd(replicas.etcd.endpoint, put)
        shown = [one.ask("GET", f"{path}/a").json, one.ask("GET", path).json["items"][0], watch.event()]
    for each in (shown[0], shown[1], (shown[2] or {})["object"]):
        assert each["metadata"]["resourceVersion"] == str(revision)
        assert (each["spec"]["restartPolicy"], each["spec"]["containers"][0]["imagePullPolicy"]) == ("Always", "Always")


def test_reads_when_something_outside_of_the_prefix_moves_the_revision(
    one: Client, other: Client, replicas: Replicas
) -> None:
    one.put("a")

    async def elsewhere(client: EtcdClient) -> int:
        return (await client.put(b"/elsewhere", b"")).revision

    revision = on_etcd(replicas.etcd.endpoint, elsewhere)
    listed = one.list()
    assert (names(listed), version(listed) >= revision) == (["a"], True)
    assert other.get("a", f"resourceVersion={revision}").status == 200
    assert names(other.list(f"resourceVersion={version(listed)}&{NOT_OLDER}")) == ["a"]
    assert names(other.list(f"resourceVersion={version(listed)}&{EXACT}")) == ["a"]
    on_etcd(replicas.etcd.endpoint, elsewhere)
    with other.watch() as watch, other.watch(f"resourceVersion={version(listed)}") as later:
        assert watch.seen(1)[0][:2] == ("ADDED", "a")
        changed = one.put("a", "2")
        assert watch.seen(1) == later.seen(1) == [("MODIFIED", "a", changed)]


def test_whatever_version_comes_with_a_continue_token_is_one_too_many(one: Client) -> None:
    for name in "ab":
        one.put(name)
    token = one.list("limit=1").json["metadata"]["continue"]
    for version_of in ("x", "-1", "5"):
        answer = one.list(f"limit=1&continue={token}&resourceVersion={version_of}")
        told = "specifying resource version is not allowed when using continue"
        assert (answer.status, answer.json["message"]) == (400, told)
