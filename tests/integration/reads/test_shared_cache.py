"""Nodes that get etcd's contents from one feeder behave like nodes with their own watches."""

from __future__ import annotations

import asyncio
import random
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from gateway.encryption.encryption import Encryption
from gateway.encryption.resources import KeyResources
from gateway.launch.feeder import other_keys
from storage.embedded import EmbeddedEtcd
from storage.entry import CorruptEntry, Entry
from storage.etcd import EtcdClient, EtcdSettings
from storage.etcd.operations import delete, put
from storage.history import Overrun
from storage.sharing import publisher, shared_watch, subscriber
from storage.sharing.located_values import SharedEntry
from storage.store import EtcdStore
from tests.integration.crash import crash
from tests.integration.encryption.etcd import by_key, configured
from tests.integration.reads.feeder import Feeder, shares
from tests.integration.reads.node import PATIENCE, Node
from tests.limits import within
from tests.robustness.consistency import assert_consistent
from tests.unit.storage.canonical import canonical

STALL = 0.2  # seconds that a read may wait longer after the feeder's end


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subscriber, "RETRY", 0.05)


@pytest.fixture
async def feeder(etcd_client: EtcdClient, prefix: bytes, tmp_path: Path) -> AsyncIterator[Feeder]:
    feeder = Feeder(etcd_client, prefix, tmp_path / "feeder")
    feeder.start()
    yield feeder
    await feeder.close()


@pytest.fixture
def node(etcd_client: EtcdClient, prefix: bytes, feeder: Feeder) -> Node:
    return Node(etcd_client, prefix, feeder.path)


def kinds(node: Node) -> set[type[Entry]]:
    return {type(entry) for entry in node.pods.slice(0, 99)}


async def becomes(said: Callable[[], bool]) -> None:
    """Waits until a condition holds that no event announces."""
    async with asyncio.timeout(PATIENCE):
        while not said():
            await asyncio.sleep(0.005)


async def test_what_is_there_and_what_changes_is_what_a_node_of_its_own_has(
    etcd_client: EtcdClient, prefix: bytes, node: Node
) -> None:
    alone = Node(etcd_client, prefix)
    for number in range(20):
        await node.put(f"p{number}", str(number))
    foreign = b'{"metadata":{"labels":{"v":"1"},"name":"f","namespace":"n"},"kind":"Pod", "apiVersion":"v1"}'
    await etcd_client.put(node.key("f"), foreign)
    await etcd_client.put(node.key("broken"), b"\0 no object")
    await etcd_client.put(prefix + b"nobodys/key", b"not JSON")
    async with node.running(), alone.running():
        await shares(node)
        first = await node.put("p0", "new")
        for each in (node, alone):
            await each.reaches(first)
        since = node.pods.history.end
        both = [put(node.key("p1"), canonical("p1", labels={"v": "new"})), delete(node.key("p2"))]
        await etcd_client.txn([], both)
        await etcd_client.put(node.key("f"), foreign.replace(b'"1"', b'"2"'))
        last = await node.put("p3", "new")
        for each in (node, alone):
            await each.reaches(last)
        assert node.changes(since) == alone.changes()[1:]
        for one, other in zip(node.pods.slice(0, 99), alone.pods.slice(0, 99), strict=True):
            assert (one.key, one.revision, one.stored()) == (other.key, other.revision, other.stored())
            if other.readable is other:
                assert (one.tail, bytes(one.piece), one.size) == (other.tail, other.piece, other.size)
                assert one.at(last).tail == other.at(last).tail
        assert sum(type(entry) is SharedEntry for entry in node.pods.slice(0, 99)) == 19
        assert node.cache.unowned.values() == alone.cache.unowned.values()
        await assert_consistent(node)


async def test_own_writes_are_seen_at_once_and_then_shared(node: Node) -> None:
    async with node.running():
        await shares(node)
        store = EtcdStore(node.client, node.cache, node.reads, node.feed.acknowledged)
        await node.reaches(await node.put("first"))
        revisions = [await store.create(node.key("a"), canonical("a"))]
        assert node.cache.reached == revisions[0]
        own = node.pods.get(node.key("a"))
        assert own is not None
        tail = own.tail
        between = await node.put("b")
        revisions.append(await store.update(node.key("c"), canonical("c"), 0))
        await node.reaches(await node.put("last"))
        await becomes(lambda: kinds(node) == {SharedEntry})
        assert node.pods.get(node.key("a")) is own and own.tail == tail
        seen = [("ADDED", "a", revisions[0]), ("ADDED", "b", between), ("ADDED", "c", revisions[1])]
        assert node.changes()[1:-1] == seen


async def test_reads_go_on_without_the_feeder_and_with_the_next_one(
    node: Node, feeder: Feeder, caplog: pytest.LogCaptureFixture
) -> None:
    async with node.running():
        await shares(node)
        revisions = [await node.put(f"p{number}") for number in range(5)]
        await node.reaches(revisions[-1])
        for _ in range(2):
            await feeder.kill()
            revisions.append(await node.put("a"))
            with within(STALL):  # from the cache, or from etcd until the watch has begun
                read = await node.reads.get(node.pods, node.key("a"))
            assert read is not None and read.revision == revisions[-1]
            await shares(node, False)
            assert "this process now watches etcd itself: " in caplog.text
            caplog.clear()
            revisions.append(await node.put("b"))
            feeder.start()
            await shares(node)
            await becomes(lambda: kinds(node) == {SharedEntry})
            revisions.append(await node.put("c"))
            await node.reaches(revisions[-1])
        assert [revision for _, _, revision in node.changes()] == revisions
        await assert_consistent(node)


async def test_a_killed_feeder_loses_nothing_among_random_writes(
    etcd_client: EtcdClient, prefix: bytes, feeder: Feeder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All versions that two nodes have seen have the bytes that were written, in whatever segment they are."""
    monkeypatch.setattr(shared_watch, "RETIRED", 2)
    chance = random.Random(29)
    written: dict[int, bytes] = {}
    nodes = [Node(etcd_client, prefix, feeder.path) for _ in range(2)]
    stores = [EtcdStore(each.client, each.cache, each.reads, each.feed.acknowledged) for each in nodes]

    async def write(count: int) -> int:
        for _ in range(count):
            name = f"p{chance.randrange(30)}"
            value = canonical(name, labels={"v": "x" * chance.choice((1, 300, 3000, 20_000))})
            key, turn = nodes[0].key(name), chance.randrange(4)
            if turn == 0:
                await etcd_client.delete(key)
                continue
            if turn == 1:
                revision = (await etcd_client.put(key, value)).revision
            else:
                there = await etcd_client.get(key)
                revision = await stores[turn - 2].update(key, value, there.mod_revision if there else 0)
            written[revision] = value
        return (await etcd_client.put(nodes[0].key("last"), canonical("last"))).revision

    async with AsyncExitStack() as stack:
        for each in nodes:
            await stack.enter_async_context(each.running())
            await shares(each)
        for _ in range(4):
            writing = asyncio.create_task(write(150))
            await asyncio.sleep(chance.random() / 5)  # it is killed at a random time,
            await feeder.kill()
            await asyncio.sleep(chance.random() / 20)  # and is down for a random time
            feeder.start()
            last = await writing
            for each in nodes:
                await shares(each)
                await each.reaches(last)
        assert nodes[0].changes() == nodes[1].changes()
        last = await write(300)
        for each in nodes:
            await each.reaches(last)
            await assert_consistent(each)
            await becomes(lambda each=each: kinds(each) == {SharedEntry})  # type: ignore[misc]
            history = each.pods.history
            versions = {change.entry for change in history.between(history.first, history.end)}
            versions |= {change.previous for change in history.between(history.first, history.end)} - {None}
            for version in versions:
                if version.revision in written:
                    assert version.stored().raw == written[version.revision]
        assert len(feeder.cache.shelf.segments._sealed) < 40


async def test_who_does_not_read_begins_again(
    node: Node,
    feeder: Feeder,
    etcd_client: EtcdClient,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(publisher, "MAX_PENDING", 1 << 15)
    monkeypatch.setattr(shared_watch, "BUFFERED", 4)
    async with node.running():
        await shares(node)
        first = node.feed._watch
        monkeypatch.setattr(node.feed, "_apply_told", lambda _: None)  # it gets the changes, but never processes them
        monkeypatch.setattr(first, "_read", lambda: None)
        asyncio.get_running_loop().remove_reader(first._socket)  # type: ignore[union-attr]
        for number in range(0, 6000, 100):
            await etcd_client.txn([], [put(node.key(f"p{number + at}"), canonical("p")) for at in range(100)])
        await becomes(lambda: not feeder.publisher._following)
        assert "a worker does not read its changes in time, and has to load the cache again" in caplog.text
        monkeypatch.undo()
        asyncio.get_running_loop().add_reader(first._socket, first._read)  # type: ignore[union-attr]
        await becomes(lambda: node.feed._watch is not first)
        await node.reaches(await node.put("last"))
        await assert_consistent(node)


async def test_a_feeder_that_hangs_is_left(node: Node, feeder: Feeder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_watch, "ANSWER", 0.1)
    async with node.running():
        await shares(node)
        hanging = node.feed._watch
        for worker in feeder.publisher._workers:
            monkeypatch.setattr(worker, "_read", lambda: None)
            monkeypatch.setattr(worker, "send", lambda told: None)
            asyncio.get_running_loop().remove_reader(worker._socket)
        revision = await node.put("a")
        await node.reads.not_older_than(revision)  # or etcd is asked: the feed may just be starting it
        await node.reaches(revision)
        assert node.feed._watch is not hanging  # its own watch, or that of the next feeder, which may come soon
        assert node.changes()[-1] == ("ADDED", "a", revision)


async def test_an_answer_that_came_while_the_loop_was_held_counts(node: Node, feeder: Feeder) -> None:
    async with node.running():
        await shares(node)
        watch = node.feed._watch
        feeder.publisher.asked(0)  # answers immediately; the node has not read the answer when its time limit ends
        watch._hangs()  # type: ignore[union-attr]
        await node.reaches(await node.put("a"))
        assert node.feed._watch is watch


async def test_few_objects_are_not_shared(etcd_client: EtcdClient, prefix: bytes, tmp_path: Path) -> None:
    feeder = Feeder(etcd_client, prefix, tmp_path / "feeder", worth=3)
    feeder.start()
    node = Node(etcd_client, prefix, feeder.path)
    try:
        await node.put("a")
        async with node.running():
            await node.put("b")
            await shares(node, False)
            await node.reaches(await node.put("c"))
            await shares(node)
            await becomes(lambda: kinds(node) == {SharedEntry})
            assert [name for _, name, _ in node.changes()] == ["b", "c"]
    finally:
        await feeder.close()


async def test_a_feeder_that_tells_something_else_is_not_followed(
    node: Node, feeder: Feeder, caplog: pytest.LogCaptureFixture
) -> None:
    async with node.running():
        await shares(node)
        revision = await node.put("a")
        await node.reaches(revision)
        await feeder.kill()
        await shares(node, False)
        await node.reaches(await node.put("b"))  # its own watch has begun, and compares the last value
        entry = node.pods.get(node.key("a"))
        assert entry is not None
        entry.revision -= 1  # stands for a version from before a restore
        feeder.start()
        await becomes(lambda: "the feeder's state contradicts this process" in caplog.text)
        await node.reaches(await node.put("b"))
        await shares(node, False)


@pytest.mark.parametrize("since", [0, 5])
async def test_everything_is_loaded_anew_when_etcd_lost_what_it_had(
    own_etcd: EmbeddedEtcd, own_client: EtcdClient, tmp_path: Path, since: int
) -> None:
    """A backup is restored, and other clients write before the node notices."""
    feeder = Feeder(own_client, b"/registry/", tmp_path / "feeder")
    feeder.start()
    node = Node(own_client, b"/registry/", feeder.path)
    async with node.running():
        await shares(node)
        kept = await node.put("kept", "1")
        await node.reaches(kept)
        await asyncio.to_thread(crash, own_etcd)
        shutil.copytree(own_etcd.data_dir / "member", tmp_path / "member")
        await asyncio.to_thread(own_etcd.start)
        await node.reaches(await node.put("lost", "1"))
        await node.reaches(await node.put("kept", "2"))
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
        await node.reads.fresh()
        expected = {"kept": kept} | {f"new{number}": kept + 1 + number for number in range(since)}
        assert {each.key: each.revision for each in node.pods.slice(0, 99)} == {
            node.key(name): revision for name, revision in expected.items()
        }
        with pytest.raises(Overrun):
            node.pods.history.between(position, node.pods.history.end)
        await shares(node)
        await node.reaches(await node.put("more"))
        await assert_consistent(node)
    await feeder.close()


async def test_what_is_to_be_loaded_anew_is_although_the_feeder_offers_its_watch(node: Node, feeder: Feeder) -> None:
    """The reload and the offer come at any time: here both come before the feed runs again."""
    async with node.running():
        await shares(node)
        await feeder.kill()
        await shares(node, False)
        await node.reaches(await node.put("a"))  # its own watch has begun
        node.feed.load_anew()
        node.feed._offered()
        async with asyncio.timeout(PATIENCE):
            await node.feed.ready.wait()


async def test_what_was_compared_with_an_older_state_is_not_taken(
    node: Node, feeder: Feeder, monkeypatch: pytest.MonkeyPatch
) -> None:
    offered = asyncio.Event()
    async with node.running():
        await shares(node)
        await feeder.kill()
        await shares(node, False)
        monkeypatch.setattr(node.shared, "offer", offered.set)  # the offer comes, and the feed does not look at it yet
        feeder.start()
        await offered.wait()
        first = node.shared._offered  # type: ignore[union-attr]
        node.feed.load_anew()
        async with asyncio.timeout(PATIENCE):
            await node.feed.ready.wait()
        monkeypatch.undo()
        monkeypatch.setattr(subscriber, "RETRY", 0.05)
        await shares(node)
        assert node.feed._watch is not first
        await node.reaches(await node.put("a"))
        await assert_consistent(node)


async def test_values_are_decrypted_once_and_read_by_whoever_has_the_keys(
    own_etcd: EmbeddedEtcd, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Keys reach the feeder and the nodes at different times; at the end all values can be read."""
    root, (old, new) = b"/registry/", (tmp_path / "old.json", tmp_path / "new.json")
    configured(old, by_key("aesgcm", "a"), resources=("pods",))
    configured(new, by_key("aesgcm", "b", "a"), resources=("pods",))
    keys = KeyResources(root, {b"pods": ("", "pods")})
    of_feeder, of_node, of_writer = Encryption(old, keys, "f"), Encryption(old, keys, "n"), Encryption(new, keys, "w")
    settings = EtcdSettings((own_etcd.endpoint,), timeout=PATIENCE)
    async with AsyncExitStack() as stack:
        client, own, other = [
            await stack.enter_async_context(EtcdClient(settings, each)) for each in (of_feeder, of_node, of_writer)
        ]
        feeder = Feeder(client, root, tmp_path / "feeder")
        feeder.start()
        stack.push_async_callback(feeder.close)
        node = Node(own, root, feeder.path)
        await own.create(node.key("a"), canonical("a"))
        await stack.enter_async_context(node.running())
        await shares(node)
        await becomes(lambda: kinds(node) == {SharedEntry})
        assert node.pods.get(node.key("a")).stored().value == canonical("a")  # type: ignore[union-attr]
        first = (await other.create(node.key("b"), canonical("b"))).revision
        await node.reaches(first)
        entry = node.pods.get(node.key("b"))
        assert isinstance(entry, CorruptEntry) and "no matching key" in entry.reason
        await node.reaches((await own.create(node.key("c"), canonical("c"))).revision)

        of_node._in_force = of_writer._in_force
        of_node._by_resource.clear()
        of_feeder._in_force = of_writer._in_force
        of_feeder._by_resource.clear()
        other_keys(feeder.cache, feeder.feed)
        await becomes(lambda: kinds(node) == {SharedEntry})
        assert node.pods.get(node.key("b")).stored().value == canonical("b")  # type: ignore[union-attr]
        assert "may be readable now" in caplog.text
        await shares(node)
