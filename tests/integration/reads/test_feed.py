"""The feed keeps the cache equal to etcd, and passes on each change exactly once."""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from storage import consistency, pages, stall
from storage.cache import ResourceCache
from storage.embedded import EmbeddedEtcd
from storage.etcd import EtcdClient
from storage.etcd.operations import delete, put
from storage.feed import Feed
from storage.history import Overrun
from storage.stall import Stall
from storage.store import EtcdStore
from tests.integration.crash import crash
from tests.integration.reads.node import PATIENCE, Node
from tests.unit.storage.canonical import canonical, label


@pytest.fixture
def node(etcd_client: EtcdClient, prefix: bytes) -> Node:
    return Node(etcd_client, prefix)


async def test_what_is_there_is_loaded_by_pages_as_of_one_revision(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "FIRST", 3)
    monkeypatch.setattr(pages, "LEAST", 3)
    monkeypatch.setattr(pages, "MOST", 4)
    for number in range(10):
        last = await node.put(f"p{number}")
    await node.client.put(node.root + b"nobodys/key", b"not JSON")
    async with node.running():
        assert [entry.key for entry in node.pods.slice(0, 99)] == [node.key(f"p{number}") for number in range(10)]
        assert node.cache.reached > last
        assert node.changes() == []
        assert node.feed.loaded == 11


async def test_a_resource_that_is_read_in_another_way_while_all_is_loaded(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Values that the earlier cache has decoded are not given to the cache that replaces it."""
    await node.put("a")
    replaced = ResourceCache(replace(node.pods.spec, trusts_marks=False))
    begun = node.cache.begin_load

    def replace_meanwhile(anew: bool) -> None:
        begun(anew)
        node.cache.remove(node.pods)
        node.pods = node.cache.add(replaced)
        monkeypatch.setattr(node.cache, "begin_load", begun)

    monkeypatch.setattr(node.cache, "begin_load", replace_meanwhile)
    async with node.running():
        (entry,) = node.pods.slice(0, 9)
        assert entry.key == node.key("a") and entry.stored().raw.startswith(node.pods.spec.head)
        assert not node.cache.unowned.values()


async def test_all_is_loaded_anew_where_that_is_asked_for_while_a_difference_is_loaded(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    await node.put("a")
    await node.feed._load()
    starts, begun = node.cache.starts, node.cache.begin_load

    def ask_meanwhile(anew: bool) -> None:
        begun(anew)
        node.feed.load_anew()

    monkeypatch.setattr(node.cache, "begin_load", ask_meanwhile)
    await node.feed._load()
    assert node.cache.starts == starts + 1
    assert [entry.key for entry in node.pods.slice(0, 9)] == [node.key("a")]
    assert not node.cache._loading, "a cache that goes would stay"


async def test_changes_come_in_order_and_once(node: Node) -> None:
    async with node.running():
        revisions = [await node.put("a"), await node.put("b"), await node.put("a"), await node.delete("b")]
        await node.reaches(revisions[-1])
        types = ["ADDED", "ADDED", "MODIFIED", "DELETED"]
        assert node.changes() == list(zip(types, "abab", revisions, strict=True))


async def test_own_writes_are_seen_when_they_are_acknowledged_among_those_of_others(node: Node) -> None:
    async with node.running():
        store = EtcdStore(node.client, node.cache, node.reads, node.feed.acknowledged)
        await node.reaches(await node.put("first"))
        revisions = [await store.create(node.key("a"), canonical("a"))]
        assert node.cache.reached == revisions[0]
        between = await node.put("b")
        revisions.append(await store.update(node.key("a"), canonical("a", labels={"v": "2"}), revisions[0]))
        revisions.append(await store.delete(node.key("a"), revisions[1]))
        await node.reaches(revisions[2])
        await node.reaches(await node.put("last"))
        seen = [("ADDED", "a", revisions[0]), ("ADDED", "b", between), ("MODIFIED", "a", revisions[1])]
        assert node.changes()[1:-1] == [*seen, ("DELETED", "a", revisions[2])]


async def test_changes_of_one_transaction_are_seen_together(node: Node) -> None:
    async with node.running():
        await node.reaches(await node.put("a"))
        changed = node.pods.changes()
        both = [put(node.key("b"), canonical("b")), delete(node.key("a"))]
        revision = (await node.client.txn([], both)).revision
        async with asyncio.timeout(PATIENCE):
            await changed
        assert node.cache.reached == revision
        assert node.changes(1) == [("ADDED", "b", revision), ("DELETED", "a", revision)]


async def test_values_of_others_are_served_canonical(node: Node) -> None:
    foreign = b'{"metadata":{"labels":{"v":"1"},"name":"a","namespace":"n"},"kind":"Pod", "apiVersion":"v1"}'
    await node.client.put(node.key("a"), foreign)
    async with node.running():
        await node.client.put(node.key("b"), b"\0 no object at all")
        revision = (await node.client.put(node.key("c"), foreign.replace(b'"a"', b'"c"'))).revision
        await node.reaches(revision)
        found = [entry.stored() for entry in node.pods.slice(0, 99)]
        assert [bool(each.corrupt) for each in found] == [False, True, False]
        assert all(b'"phase":"defaulted"' in each.value for each in found if not each.corrupt)


async def test_after_a_compaction_what_changed_is_emitted(node: Node, caplog: pytest.LogCaptureFixture) -> None:
    """The feed was disconnected, and etcd has compacted its history: the difference is passed on, without older
    changes.
    """
    async with node.running():
        for name in ("kept", "changed", "deleted"):
            await node.reaches(await node.put(name, "1"))
    seen, before = node.pods.history.end, node.cache.reached
    changed = await node.put("changed", "2")
    await node.delete("deleted")
    added = await node.put("added", "1")
    await node.put("fleeting")
    last = await node.delete("fleeting")
    await node.client.compact(last)
    node.feed = Feed(node.client, node.cache)
    node.feed.ready.set()
    async with node.running():
        await node.reaches(last)
        *written, removed = node.changes(seen)
        assert written == [("MODIFIED", "changed", changed), ("ADDED", "added", added)]
        assert removed[:2] == ("DELETED", "deleted") and removed[2] >= last
        with pytest.raises(Overrun):
            node.pods.history.position_after(before)
        again = await node.put("kept", "2")
        await node.reaches(again)
        assert node.changes(seen + 3) == [("MODIFIED", "kept", again)]
    assert "the watch fell behind etcd's compaction, loading the cache again" in caplog.text


async def test_the_feed_goes_on_where_it_was_when_etcd_comes_back(
    own_etcd: EmbeddedEtcd, own_client: EtcdClient
) -> None:
    node = Node(own_client, b"/registry/")
    async with node.running():
        revisions = [await node.put("a")]
        await node.reaches(revisions[0])
        for _ in range(2):
            crash(own_etcd)
            await asyncio.to_thread(own_etcd.start)
            revisions += [await node.put("b"), await node.delete("b")]
        await node.reaches(revisions[-1])
        assert [revision for _, _, revision in node.changes()] == revisions


@pytest.mark.parametrize("last", ["written", "deleted"])
@pytest.mark.parametrize("since", [0, 1, 5])
async def test_everything_is_loaded_anew_when_etcd_lost_what_it_had(
    own_etcd: EmbeddedEtcd,
    own_client: EtcdClient,
    tmp_path: Path,
    last: str,
    since: int,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A backup is restored, and other writes use the revisions of the lost ones, up to `since`."""
    node = Node(own_client, b"/registry/")
    async with node.running():
        kept, gone = await node.put("kept", "1"), await node.put("gone", "1")
        await asyncio.to_thread(crash, own_etcd)
        shutil.copytree(own_etcd.data_dir / "member", tmp_path / "member")
        await asyncio.to_thread(own_etcd.start)
        lost = [await node.put("gone", "2"), await node.put("lost", "1")]
        lost.append(await (node.put("kept", "2") if last == "written" else node.delete("kept")))
        await node.reaches(lost[-1])
        position, told = node.pods.history.end, node.pods.changes()
        await asyncio.to_thread(crash, own_etcd)
        shutil.rmtree(own_etcd.data_dir / "member")
        shutil.copytree(tmp_path / "member", own_etcd.data_dir / "member")
        await asyncio.to_thread(own_etcd.start)
        for number in range(since):
            await node.put(f"new{number}", "1")
        async with asyncio.timeout(PATIENCE):
            await told
            await node.feed.ready.wait()
        await node.reaches(gone + since)
        expected = {"kept": kept, "gone": gone} | {f"new{number}": gone + 1 + number for number in range(since)}
        assert {each.key: each.revision for each in node.pods.slice(0, 99)} == {
            node.key(name): revision for name, revision in expected.items()
        }
        with pytest.raises(Overrun):
            node.pods.history.between(position, node.pods.history.end)
    assert "etcd's history has changed, loading the cache again" in caplog.text


async def outside(node: Node) -> int:
    """Writes outside of the prefix, which raises etcd's revision."""
    return (await node.client.put(b"/elsewhere", b"")).revision


async def test_a_read_is_answered_by_etcd_when_the_feed_cannot_catch_up(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consistency, "EVENTS_WAIT", 0.02)
    async with node.running():
        await node.reaches(await node.put("a", "1"))
        node.feed.progress_trusted = False
        revision = await outside(node)
        assert not await node.reads.fresh()
        assert not await node.reads.not_older_than(revision)
        page = await node.reads.page_direct(node.pods, node.root + b"pods/", node.root + b"pods/", 0, None)
        assert (len(page.entries), page.revision >= revision) == (1, True)
        entry = await node.reads.get(node.pods, node.key("a"))
        assert entry is not None and label(entry.tail) == "1"
        assert await node.reads.get(node.pods, node.key("none")) is None


async def test_progress_brings_the_feed_to_a_revision_from_elsewhere(node: Node) -> None:
    async with node.running():
        await node.reaches(await node.put("a"))
        node.feed.progress_trusted = True
        revision = await outside(node)
        assert await node.reads.not_older_than(revision)
        await outside(node)
        assert await node.reads.fresh()
        assert node.cache.reached > revision


async def test_a_read_never_returns_less_than_what_was_acknowledged(node: Node) -> None:
    """Concurrent writers and readers. A reader knows which writes were acknowledged before its read."""
    acknowledged = {f"p{number}": 0 for number in range(4)}
    async with node.running():
        await node.reaches(await node.put("first"))

        async def write(name: str) -> None:
            for version in range(1, 40):
                await node.put(name, str(version))
                acknowledged[name] = version

        async def read(name: str) -> int:
            reads = 0
            while acknowledged[name] < 39:
                known = acknowledged[name]
                entry = await node.reads.get(node.pods, node.key(name))
                assert known == 0 or (entry is not None and int(label(entry.tail)) >= known)
                reads += 1
            return reads

        async with asyncio.timeout(PATIENCE):
            done = await asyncio.gather(*(write(name) for name in acknowledged), *(read(name) for name in acknowledged))
        assert sum(count or 0 for count in done) >= len(acknowledged)


async def test_a_feed_that_is_not_guarded_ends(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error of its stream's guard becomes the error of the feed, so that it is not lost."""

    async def moves(_stall: Stall) -> bool:
        raise ZeroDivisionError("poisoned")

    monkeypatch.setattr(stall, "LOOK_ALONE", 0.05)
    monkeypatch.setattr(Stall, "_moves", moves)
    feed = Feed(node.client, node.cache)
    with pytest.raises(ZeroDivisionError, match="poisoned"):
        async with asyncio.timeout(PATIENCE):
            await feed.run()
