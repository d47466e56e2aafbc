"""The watch cache takes any value of etcd, keeps key order, and notifies waiters."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from time import monotonic
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.cache import ResourceCache
from storage.entry import MARK, ChangeType
from storage.errors import CorruptObject
from storage.escapes import escaped
from storage.metrics import DISPATCH
from storage.watch_cache import WatchCache
from tests.logged import of
from tests.unit.storage.canonical import HEAD, PREFIX, ROOT, SPEC, canonical, key, label, labels_and_fields_of, pods

FOREIGN = (
    b'{ "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "n", "labels": {"app": "web"}} }'
)
UNREADABLE = [b"", b"null", b"7", b"[]", b"{", b"k8s\x00\n\x0b", b"\xff\xfe", b'{"metadata":7}', b'{"metadata":null}']


def shown(cache: ResourceCache, at: bytes) -> dict[str, Any]:
    entry = cache.get(at)
    assert entry is not None
    shown: dict[str, Any] = orjson.loads(HEAD + entry.tail)
    return shown


def test_canonical_values_are_taken_as_they_are() -> None:
    cache = ResourceCache(replace(SPEC, canonicalise=lambda value: pytest.fail("it is canonical")))
    cache.put(key("n", "a"), canonical("a"), 5)
    entry = cache.get(key("n", "a"))
    assert entry is not None and entry.stored().value == canonical("a")


def test_the_values_of_others_are_made_canonical_once() -> None:
    cache = pods()
    cache.put(key("n", "a"), FOREIGN, 5)
    obj = shown(cache, key("n", "a"))
    assert obj["spec"] == {"phase": "defaulted"}
    assert obj["metadata"] == {
        "name": "a",
        "namespace": "n",
        "uid": "u-1",
        "resourceVersion": "5",
        "labels": {"app": "web"},
    }


@pytest.mark.parametrize(
    "metadata",
    [b"{}", b'{"name":"b","namespace":"n"}', b'{"name":"a"}', b'{"name":"a","namespace":"m"}', b'{"namespace":"n"}'],
)
def test_a_value_under_anothers_key_is_no_object(metadata: bytes) -> None:
    """Code that finds objects by name would take it for the other object, such as a role or policy."""
    cache = pods()
    cache.put(key("n", "a"), b'{"metadata":%b}' % metadata, 5)
    entry = cache.get(key("n", "a"))
    assert entry is not None and entry.stored().corrupt


@pytest.mark.parametrize("value", UNREADABLE)
def test_nothing_is_made_up_for_a_value_that_nobody_can_read(value: bytes, caplog: pytest.LogCaptureFixture) -> None:
    cache = pods()
    cache.put(key("n", "a"), value, 5)
    entry = cache.get(key("n", "a"))
    assert entry is not None
    for look in (
        lambda: entry.tail,
        lambda: entry.labels_and_fields(labels_and_fields_of),
        lambda: entry.stored().value,
    ):
        with pytest.raises(CorruptObject, match=r"revision=5: ."):
            look()
    assert (entry.stored().raw, entry.stored().revision) == (value, 5)
    assert [record.getMessage() for record in of(caplog, "storage")] == ["stored object cannot be decoded"]


def test_a_corrupt_object_can_be_mended_and_deleted() -> None:
    cache = pods()
    cache.put(key("n", "a"), b"?", 5)
    cache.put(key("n", "a"), canonical("a", labels={"v": "1"}), 6)
    assert shown(cache, key("n", "a"))["metadata"]["resourceVersion"] == "6"
    cache.put(key("n", "a"), b"?", 7)
    cache.remove(key("n", "a"), 8)
    assert cache.get(key("n", "a")) is None
    assert [change.type for change in cache.history.between(0, cache.history.end)] == [
        ChangeType.ADDED,
        ChangeType.MODIFIED,
        ChangeType.MODIFIED,
        ChangeType.DELETED,
    ]
    deleted = cache.history.between(3, 4)[0].entry
    with pytest.raises(CorruptObject):
        _ = deleted.tail
    assert deleted.readable is not None and label(deleted.readable.tail) == "1"


@pytest.mark.parametrize(
    "rest", [b'"metadata":{"name":"a","namespace":"n"}}', b'"metadata":{"uid":"1', b'"metadata":{']
)
def test_a_value_that_only_looks_canonical_does_no_harm(rest: bytes) -> None:
    cache = pods()
    cache.put(key("n", "a"), HEAD + rest + MARK, 5)
    entry = cache.get(key("n", "a"))
    assert entry is not None
    if rest.endswith(b"}}"):
        assert shown(cache, key("n", "a"))["metadata"]["resourceVersion"] == "5"
    else:
        assert entry.stored().corrupt


async def test_a_cache_that_was_replaced_is_told_of_changes_until_its_watches_end() -> None:
    oldest, old, new = (ResourceCache(SPEC) for _ in range(3))
    for former, cache in ((oldest, old), (old, new)):
        cache.succeed(former)
        assert former.closed
    new.put(key("n", "a"), canonical("a"), 5)
    assert [each.history.end for each in (oldest, old, new)] == [1, 1, 1]
    new.end_former()
    new.remove(key("n", "a"), 6)
    assert [each.history.end for each in (oldest, old, new)] == [1, 1, 2]
    assert not old.all_keys() and not oldest.all_keys()


async def test_who_still_reads_a_cache_that_was_replaced_sees_what_is_in_the_new_one() -> None:
    old, new = ResourceCache(SPEC), ResourceCache(SPEC)
    old.put(key("n", "a"), canonical("a"), 5)
    new.put(key("n", "a"), canonical("a"), 5)
    new.succeed(old)
    new.end_former()
    new.put(key("n", "b"), canonical("b"), 6)
    assert old.all_keys() == [key("n", "a"), key("n", "b")] == [entry.key for entry in old.slice(0, len(old))]
    assert old.get(key("n", "b")) is new.get(key("n", "b"))
    old.memo["answer"] = b"of this state"
    assert old.closed and not old.memo and not new.memo


def test_an_entry_keeps_the_version_that_it_is_stored_in() -> None:
    older = HEAD.replace(b"v1", b"v1beta1")
    cache = ResourceCache(replace(SPEC, other_heads=(older,)))
    cache.put(key("n", "a"), canonical("a"), 5)
    cache.put(key("n", "b"), canonical("b").replace(HEAD, older), 6)
    cache.put(key("n", "c"), canonical("c").replace(HEAD, older), 7)
    assert [entry.head for entry in cache.slice(0, 3)] == [HEAD, older, older]
    assert cache.slice(1, 2)[0].head is cache.slice(2, 3)[0].head
    assert cache.slice(1, 2)[0].stored().value == canonical("b").replace(HEAD, older)


NAMESPACES = st.sampled_from(["a", "a-b", "a.b", "ab", "a0", "b", "aa"])


@given(st.lists(st.tuples(NAMESPACES, st.sampled_from(["x", "y", "x-1", "x.1"])), unique=True))
def test_a_namespace_holds_its_own_objects_and_no_others(objects: list[tuple[str, str]]) -> None:
    """Also if one namespace's name is a prefix of another's; "-" and "." sort before "/"."""
    cache = pods()
    for revision, (namespace, name) in enumerate(objects, start=1):
        cache.put(key(namespace, name), canonical(name), revision)
    for namespace in ("a", "a-b", "a.b", "ab", "none"):
        found = cache.slice(*cache.bounds(key(namespace, "")))
        assert [each.key for each in found] == sorted(key(space, name) for space, name in objects if space == namespace)
    assert cache.slice(*cache.bounds(PREFIX)) == cache.slice(0, len(cache))


def test_changes_say_what_was_there_before() -> None:
    cache = pods()
    cache.put(key("n", "a"), canonical("a"), 5)
    cache.put(key("n", "a"), canonical("a", labels={}), 6)
    cache.remove(key("n", "a"), 7)
    cache.remove(key("n", "a"), 8)
    added, modified, deleted = cache.history.between(0, cache.history.end)
    assert [added.type, modified.type, deleted.type] == [ChangeType.ADDED, ChangeType.MODIFIED, ChangeType.DELETED]
    assert (added.previous, modified.previous) == (None, added.entry)
    assert deleted.previous is modified.entry and deleted.entry.revision == 7
    assert (len(cache), cache.changed, cache.get(key("n", "a"))) == (0, 7, None)


def test_answers_are_forgotten_when_something_changes() -> None:
    cache = pods()
    cache.memo["answer"] = 1
    cache.put(key("n", "a"), canonical("a"), 5)
    assert not cache.memo


def test_a_key_belongs_to_the_resource_whose_prefix_it_has() -> None:
    watch_cache = WatchCache(ROOT)
    found = {
        segment: watch_cache.register(replace(SPEC, prefix=ROOT + segment + b"/"))
        for segment in (b"pods", b"services/specs", b"services/endpoints", b"apps.example.com/things")
    }
    for rest, segment in {
        b"pods/n/a": b"pods",
        b"services/specs/n/a": b"services/specs",
        b"services/endpoints/n/a": b"services/endpoints",
        b"apps.example.com/things/n/a": b"apps.example.com/things",
        b"podsecurity/n/a": None,
        b"services/other/n/a": None,
        b"services/specs": None,
        b"pods": None,
        b"": None,
        b"ranges/serviceips": None,
    }.items():
        assert watch_cache.of_key(ROOT + rest) is (found[segment] if segment else None), rest
    assert watch_cache.register(replace(SPEC, prefix=ROOT + b"pods/")) is found[b"pods"]


async def test_those_go_on_whose_revision_is_reached() -> None:
    cache = WatchCache(ROOT)
    cache.advance(5)
    waiting = {revision: cache.reach(revision) for revision in (9, 5, 7, 8, 7)}
    assert [revision for revision, future in waiting.items() if future.done()] == [5]
    cache.advance(7)
    cache.advance(6)
    assert cache.reached == 7
    assert sorted(revision for revision, future in waiting.items() if future.done()) == [5, 7]


async def test_who_gave_up_waiting_is_forgotten() -> None:
    cache = WatchCache(ROOT)
    patient = cache.reach(100)
    for revision in range(10_000):
        cache.reach(1 << 60 | revision).cancel()
    assert len(cache._waiting) <= 257
    cache.advance(100)
    assert patient.done()


async def test_a_batch_of_changes_wakes_once() -> None:
    cache = pods()
    one, other = cache.changes(), cache.changes()
    cache.forget(other)
    cache.wake()
    assert one.done() and not other.done()
    async with asyncio.timeout(60):
        await one


async def test_the_way_of_a_change_to_each_watch_is_timed() -> None:
    cache = ResourceCache(replace(SPEC, group_resource=("timed.example.com", "pods")))
    called = asyncio.Event()
    for told in (lambda _: None, lambda _: called.set()):
        cache.follow_changes(told)
    cache.wake(monotonic() - 3)
    await called.wait()
    await asyncio.sleep(0)  # all are called in one turn, and counted at its end
    found = {
        stage: (sum(child.counts), child.total) for (group, _, stage), child in DISPATCH.children() if "." in group
    }
    assert {stage: count for stage, (count, _) in found.items()} == {
        "storage_to_cache": 1,
        "cache_to_watcher": 2,
        "total": 2,
    }
    assert found["storage_to_cache"][1] >= 3 and found["total"][1] >= 6 > found["cache_to_watcher"][1]


def test_the_objects_of_a_namespace_are_looked_for_anew_after_each_change() -> None:
    cache = pods()

    def found(namespace: str) -> list[bytes]:
        return [entry.key for entry in cache.of_namespace(namespace)]

    assert found("n") == found("n.m") == []
    cache.put(key("n", "b"), canonical("b"), 5)
    cache.put(key("n", "a"), canonical("a"), 6)
    assert (found("n"), found("n.m")) == ([key("n", "a"), key("n", "b")], [])
    cache.remove(key("n", "a"), 7)
    assert found("n") == [key("n", "b")]
    cache.take({})
    assert found("n") == []


def test_a_canonical_value_of_another_minor_is_read_as_of_today_and_stored_anew() -> None:
    cache = ResourceCache(replace(SPEC, outdated=lambda value: b'"phase":"defaulted"' not in value))
    now = canonical("a", namespace="n", labels={}, spec={"phase": "defaulted"})
    for revision, value in ((5, canonical("a", namespace="n", labels={})), (6, now)):
        cache.put(key("n", "a"), value, revision)
        entry = cache.get(key("n", "a"))
        assert entry is not None and entry.stored().value == now and entry.stored().anew is (value != now)


def test_a_value_that_only_seems_to_be_of_another_minor_is_taken_as_it_is() -> None:
    cache = ResourceCache(replace(SPEC, outdated=lambda value: True))
    value = canonical("a", namespace="n", labels={}, spec={"phase": "defaulted"})
    cache.put(key("n", "a"), value, 5)
    entry = cache.get(key("n", "a"))
    assert entry is not None and entry.stored().value == value and not entry.stored().anew


def test_a_value_that_differs_in_escapes_alone_is_not_stored_anew() -> None:
    """A version without Go's escapes stored it. If both versions run, each would write what the other has written."""
    plain = canonical("a", namespace="n", labels={}, spec={"command": "a && b"})
    cache = ResourceCache(replace(SPEC, trusts_marks=False, canonicalise=lambda value: escaped(value.rstrip() + MARK)))
    for number, (value, anew) in enumerate([(plain, False), (escaped(plain), False), (plain + b"\n", True)], 1):
        cache.put(key("n", "a"), value, number)
        entry = cache.get(key("n", "a"))
        assert entry is not None and entry.stored().anew is anew
        assert entry.stored().value == escaped(plain)
