"""Watches: at which version they start, which events they send, how they end and resume."""

from __future__ import annotations

import asyncio
import json
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPResponse

import pytest

from storage.etcd import EtcdClient
from tests.forked import api_server
from tests.integration.reads.api import Client, Seen, Watch, on_etcd, short
from tests.integration.reads.conftest import Replicas
from tests.integration.reads.test_lists import restarted
from tests.limits import within

BOOKMARKS = "allowWatchBookmarks=true"
AHEAD = 100  # changes that a client that reads may be behind: far fewer than the history keeps
INITIAL = f"{BOOKMARKS}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"


def test_a_watch_from_a_version_shows_what_came_after_it(one: Client, other: Client) -> None:
    start = one.put("a")
    expected: list[Seen] = [("MODIFIED", "a", one.put("a", "2")), ("ADDED", "b", one.put("b"))]
    one.delete("a")
    with other.watch(f"resourceVersion={start}") as watch:
        seen = watch.seen(3)
        assert (seen[:2], seen[2][:2]) == (expected, ("DELETED", "a"))
        assert seen[2][2] > expected[-1][2], "the version of the deletion itself"
        revision = one.put("c")
        assert watch.seen(1) == [("ADDED", "c", revision)]


@pytest.mark.parametrize("query", ["", "resourceVersion=", "resourceVersion=0"])
def test_a_watch_without_a_version_starts_with_what_is_there(one: Client, query: str) -> None:
    there = [("ADDED", name, one.put(name)) for name in "ab"]
    with one.watch(query) as watch:
        assert watch.seen(2) == there
        revision = one.put("a", "2")
        assert watch.seen(1) == [("MODIFIED", "a", revision)]


def test_an_unset_version_is_the_most_recent_one_elsewhere(one: Client, other: Client) -> None:
    for number in range(20):
        revision = one.put("a", str(number))
        with other.watch() as watch:
            assert watch.seen(1) == [("ADDED", "a", revision)]


def test_selectors_make_objects_appear_and_disappear(one: Client) -> None:
    start = one.put("a", app="db")
    with one.watch(f"resourceVersion={start}&labelSelector=app%3Dweb") as watch:
        appears, changes = one.put("a", app="web"), one.put("a", "2", app="web")
        disappears = one.put("a", app="db")
        one.put("b", app="db")
        one.delete("b")
        again = one.put("a", app="web")
        one.delete("a")
        events = [watch.event() or {} for _ in range(5)]
    found = [(each["type"], int(each["object"]["metadata"]["resourceVersion"])) for each in events]
    assert found[:4] == [("ADDED", appears), ("MODIFIED", changes), ("DELETED", disappears), ("ADDED", again)]
    assert found[4][0] == "DELETED"
    assert events[2]["object"]["data"] == {"data": "2"}, "the object as it was when it last matched"


def test_one_object_can_be_watched(one: Client) -> None:
    start = one.put("a")
    queries = [("fieldSelector=metadata.name%3Db&", ""), ("", f"/api/v1/watch/namespaces/{one.namespace}/configmaps/b")]
    for query, path in queries:
        with one.watch(f"{query}resourceVersion={start}", path=path) as watch:
            one.put("a", path)
            revision = one.put("b", path)
            type_, name, seen = watch.seen(1)[0]
            assert (name, type_) == ("b", "ADDED") and seen <= revision


@pytest.mark.parametrize("query", ["", "resourceVersion=0&"])
def test_legacy_watches_mark_the_end_of_their_initial_events(one: Client, query: str) -> None:
    one.put("a")
    with one.watch(f"{query}timeoutSeconds=60&{BOOKMARKS}") as watch:
        added, end = watch.event(), watch.event()
    assert added is not None and added["type"] == "ADDED"
    assert end is not None and end["type"] == "BOOKMARK"
    assert end["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


def test_the_deprecated_path_is_checked_as_a_list(one: Client) -> None:
    path = f"/api/v1/watch/namespaces/{one.namespace}/configmaps"
    refused = one.ask("GET", f"{path}?resourceVersionMatch=Exact")
    assert refused.status == 422
    assert [cause["message"] for cause in refused.json["details"]["causes"]] == [
        "Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided"
    ]


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("", 406),
        ("&resourceVersion=99999999", 406),
        ("&resourceVersion=x", 500),
        ("&limit=x", 400),
        ("&labelSelector=a+in", 400),
        ("&fieldSelector=x%3Dy", 400),
        ("&resourceVersionMatch=Exact", 422),
    ],
)
def test_options_of_a_watch_are_checked_before_its_format(one: Client, query: str, code: int) -> None:
    path = f"/api/v1/namespaces/{one.namespace}/configmaps?watch=1{query}"
    assert one.ask("GET", path, accept="application/yaml").status == code


def test_a_watch_ends_by_itself_with_a_fresh_bookmark_before(one: Client) -> None:
    start = one.put("a")
    revision = one.put("b")
    with one.watch(f"resourceVersion={start}&timeoutSeconds=3&{BOOKMARKS}") as watch:
        added, bookmark = watch.rest()
    assert added == ("ADDED", "b", revision)
    assert bookmark[:2] == ("BOOKMARK", "") and bookmark[2] >= revision


def test_the_end_of_the_initial_events_is_marked(one: Client) -> None:
    added = [("ADDED", name, one.put(name, app=app)) for name, app in (("a", "web"), ("b", "db"), ("c", "web"))]
    for query, expected in (
        (INITIAL, added),
        (f"{INITIAL}&resourceVersion=0", added),
        (f"{INITIAL}&resourceVersion={added[-1][2]}", added),
        (f"{INITIAL}&labelSelector=app%3Dweb", [added[0], added[2]]),
    ):
        with one.watch(query) as watch:
            assert watch.seen(len(expected)) == expected
            bookmark = watch.event() or {}
            assert bookmark["type"] == "BOOKMARK"
            metadata = bookmark["object"]["metadata"]
            assert metadata["annotations"] == {"k8s.io/initial-events-end": "true"}
            assert int(metadata["resourceVersion"]) >= added[-1][2]
            assert (bookmark["object"]["kind"], bookmark["object"]["apiVersion"]) == ("ConfigMap", "v1")


def test_initial_events_may_be_declined(one: Client) -> None:
    start = one.put("a")
    missed = one.put("b")
    declined = "sendInitialEvents=false&resourceVersionMatch=NotOlderThan"
    with one.watch(declined) as now, one.watch(f"{declined}&resourceVersion={start}") as since:
        revision = one.put("c")
        assert now.seen(1) == [("ADDED", "c", revision)]
        assert since.seen(2) == [("ADDED", "b", missed), ("ADDED", "c", revision)]


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("metadata.name%3Da", 0),
        ("metadata.name%3Da,metadata.namespace!%3Dx", 0),
        ("%3D", 0),
        ("metadata.name%3Db", 400),
        ("metadata.name!%3Db", 400),
        ("metadata.name%3D", 400),
        ("metadata.namespace!%3Dx", 400),
        ("metadata.name%3Db&resourceVersionMatch=x", 422),  # options are validated first
        ("spec.unknown%3Db&resourceVersionMatch=x", 422),
    ],
)
def test_a_selector_asks_for_the_name_that_the_deprecated_path_names(one: Client, query: str, code: int) -> None:
    one.put("a")
    path = f"/api/v1/watch/namespaces/{one.namespace}/configmaps/a"
    if code:
        refused = one.ask("GET", f"{path}?fieldSelector={query}")
        expected = "fieldSelector metadata.name doesn't match requested name" if code == 400 else "resourceVersionMatch"
        assert refused.status == code and expected in refused.json["message"]
        return
    with one.watch(f"fieldSelector={query}", path=path) as watch:
        assert watch.seen(1)[0][:2] == ("ADDED", "a")


def test_the_deprecated_path_does_not_mark_the_end_of_the_initial_events(one: Client) -> None:
    one.put("a")
    path = f"/api/v1/watch/namespaces/{one.namespace}/configmaps"
    with one.watch(f"{BOOKMARKS}&timeoutSeconds=60", path=path, asking="") as watch:
        assert watch.seen(1)[0][:2] == ("ADDED", "a")
        revision = one.put("b")
        assert watch.seen(1) == [("ADDED", "b", revision)]


@pytest.mark.parametrize(
    ("query", "code", "said"),
    [
        ("sendInitialEvents=true", 422, "requires setting resourceVersionMatch to NotOlderThan"),
        ("resourceVersionMatch=NotOlderThan", 422, "is forbidden for watch unless sendInitialEvents is provided"),
        ("sendInitialEvents=true&resourceVersionMatch=Exact", 422, 'supported values: "NotOlderThan"'),
        ("labelSelector=a=b=c", 400, "found '=', expected: ',' or 'end of string'"),
        # kube-apiserver's code, too: its storage returns this error not as a Status
        ("resourceVersion=x", 500, 'resourceVersion: Invalid value: "x"'),
    ],
)
def test_watches_that_cannot_be_read_are_refused(one: Client, query: str, code: int, said: str) -> None:
    with one.watch(query) as watch:
        status = json.loads(watch.response.read())
    assert (watch.status, status["kind"], status["code"]) == (code, "Status", code)
    assert said in status["message"]


def test_a_version_that_etcd_does_not_have_is_gone(one: Client) -> None:
    """As after a restore of a backup: a watch that waited for that revision would miss what gets it."""
    revision = one.put("a")
    with one.watch(f"resourceVersion={revision + 1000}&timeoutSeconds=20") as watch:
        assert watch.seen(1) == [("ERROR", "Expired", 410)]
        assert watch.rest() == []


def test_a_watch_is_resumed_after_a_restart_from_etcds_own_history(
    one: Client, other: Client, replicas: Replicas
) -> None:
    start = one.put("a", app="web")
    with other.watch(f"resourceVersion={start}") as watch:
        revision = one.put("b", app="web")
        assert watch.seen(1) == [("ADDED", "b", revision)]
    expected: list[Seen] = [("MODIFIED", "a", one.put("a", "2", app="db")), ("ADDED", "c", one.put("c", app="web"))]
    one.delete("b")
    restarted(replicas.other)
    with (
        other.watch(f"resourceVersion={revision}") as watch,
        other.watch(f"resourceVersion={revision}&labelSelector=app%3Dweb") as selected,
    ):
        seen = watch.seen(3)
        assert (seen[:2], seen[2][:2]) == (expected, ("DELETED", "b"))
        assert [each[:2] for each in selected.seen(3)] == [("DELETED", "a"), ("ADDED", "c"), ("DELETED", "b")]
        for number in range(3):
            revision = one.put("c", str(number), app="web")
            assert watch.seen(1) == selected.seen(1) == [("MODIFIED", "c", revision)]


def test_only_what_etcd_has_compacted_is_gone(one: Client, other: Client, replicas: Replicas) -> None:
    start = one.put("a")
    middle = one.put("b")
    last = one.put("c")
    on_etcd(replicas.etcd.endpoint, lambda client: client.compact(last))
    restarted(replicas.other)
    with other.watch(f"resourceVersion={start}") as watch:
        assert watch.status == 200
        assert watch.rest() == [("ERROR", "Expired", 410)]
    with other.watch(f"resourceVersion={middle}") as watch:
        assert watch.seen(1) == [("ADDED", "c", last)]
    with one.watch(f"resourceVersion={start}") as watch:
        assert watch.seen(2) == [("ADDED", "b", middle), ("ADDED", "c", last)]


def test_a_slow_consumer_hurts_itself_only(one: Client, replicas: Replicas) -> None:
    """Its watch ends when unread events are dropped from the history; other watches get everything."""
    start, changes = one.put("a"), 420
    stored = one.get("a").json
    del stored["metadata"]["resourceVersion"]
    key = f"/registry/configmaps/{one.namespace}/a".encode()

    seen: list[Seen] = []

    def read(eager: Watch) -> None:
        while len(seen) < changes:
            seen.append(short(eager.event()))

    async def write(client: EtcdClient) -> list[int]:
        revisions = []
        for number in range(changes):
            while len(seen) < number - AHEAD and not reading.done():  # who reads all the time may be slow too
                await asyncio.sleep(0.005)
            stored["data"] = {"number": str(number), "data": "x" * 200_000}
            revisions.append((await client.put(key, json.dumps(stored).encode())).revision)
        return revisions

    with (
        one.watch(f"resourceVersion={start}", receive_buffer=1 << 16) as slow,
        one.watch(f"resourceVersion={start}&timeoutSeconds=250") as eager,
    ):
        with ThreadPoolExecutor(1) as reader:
            reading = reader.submit(read, eager)
            revisions = on_etcd(replicas.etcd.endpoint, write)
        reading.result()
        assert [each[2] for each in seen] == revisions
        rest = slow.rest()
    assert len(rest) < changes
    assert [each[2] for each in rest] == sorted({each[2] for each in rest})
    with one.watch(f"resourceVersion={max(start, rest[-1][2] if rest else start)}&timeoutSeconds=100") as resumed:
        assert resumed.seen(changes - len(rest))[-1] == ("MODIFIED", "a", revisions[-1])


def test_a_watch_of_negative_length_is_over_at_once(one: Client) -> None:
    revision = one.put("a")
    for seconds in (-1, 9223372037):  # the second is more nanoseconds than 64 bits hold
        answer = one.ask("GET", f"{one.path}?watch=1&timeoutSeconds={seconds}&resourceVersion={revision}")
        assert (answer.status, answer.body) == (200, b"")


def test_seconds_of_too_many_nanoseconds_are_those_that_go_makes_of_them(one: Client) -> None:
    revision = one.put("a")
    with within(20):
        answer = one.ask("GET", f"{one.path}?watch=1&timeoutSeconds=18446744074&resourceVersion={revision}")
    assert (answer.status, answer.body) == (200, b"")


def unpacked(answer: HTTPResponse) -> Iterator[bytes]:
    """The lines of an answer with gzip, each once it has come."""
    member, left = zlib.decompressobj(zlib.MAX_WBITS | 16), b""
    while data := answer.read1():
        while data:
            left += member.decompress(data)
            data = member.unused_data
            if member.eof:
                member = zlib.decompressobj(zlib.MAX_WBITS | 16)
        *lines, left = left.split(b"\n")
        yield from lines


@pytest.mark.parametrize(
    ("minor", "query", "packs"), [("1.36", INITIAL, False), ("1.37", INITIAL, True), ("1.37", "", False)]
)
def test_a_streamed_list_is_compressed_from_1_37_on(minor: str, query: str, packs: bool) -> None:
    """Each part can be read when it comes."""
    with api_server("--controllers=-*", f"--kubernetes-version={minor}") as server:
        client = Client(server, "default")
        initial, end = [("ADDED", name, client.put(name, "x" * 10_000)) for name in "ab"], len(query) > 0
        with client.watch(query, coding="gzip") as watch:
            answer = watch.response
            assert (answer.getheader("content-encoding"), answer.getheader("vary")) == (
                ("gzip", "Accept-Encoding") if packs else (None, None)
            )
            lines = unpacked(answer) if packs else iter(answer.readline, b"")
            found = [short(json.loads(next(lines))) for _ in range(2 + end)]
            assert found[:2] == initial and [each[0] for each in found[2:]] == ["BOOKMARK"] * end
            changed = "MODIFIED", "a", client.put("a", "2")
            assert short(json.loads(next(lines))) == changed
