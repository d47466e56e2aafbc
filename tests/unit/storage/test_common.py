"""Several registries behind one feed: the key tells whose a change is, and all have reached the same revision."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from gateway.controllers.cache_sync import all_seen
from storage import common
from storage.common import Common, CommonCache, CommonFeed, PartCache
from storage.errors import Unavailable, WholeReplaced
from storage.etcd import PUT, EtcdClient, KeyEvent, KeyValue
from storage.load import Loaded, values_of
from storage.reads import Reads
from storage.seeded.contents import Contents
from storage.seeded.seeds import BORN, MARKS, Seeds
from storage.unowned_objects import Taking
from tests.unit.storage.canonical import SPEC, canonical

ROOT = b"/registry-clusters/"


class Registries:
    """A common cache with the attached part `a`, the part `b` that is being attached, and the detached part `c`."""

    def __init__(self) -> None:
        self.stirred: list[str] = []
        self.common = CommonCache(ROOT, self.stirred.append)
        self.parts = {name: PartCache(self.common, name) for name in "abc"}
        self.caches = {
            name: part.register(replace(SPEC, prefix=part.root + b"pods/")) for name, part in self.parts.items()
        }
        self.parts["a"].attached = True
        self.common.parts[b"a"] = self.parts["a"]
        self.common.takings[b"b"] = Taking(self.parts["b"].root, {})
        self.common.advance(7)


def test_a_key_belongs_to_the_resource_of_its_part() -> None:
    made = Registries()
    assert made.common.of_key(ROOT + b"a/pods/n/x") is made.caches["a"]
    for key in (b"b/pods/n/x", b"c/pods/n/x", b"a/other/x", b"a", b"pods/n/x", b""):
        assert made.common.of_key(ROOT + key) is None
    assert list(made.common) == [made.caches["a"]]


def test_a_part_has_reached_what_the_feed_has_reached() -> None:
    made = Registries()
    assert made.parts["a"].reached == 7
    assert made.parts["b"].reached == made.parts["c"].reached == 0
    made.common.advance(9)
    made.common.forget(8)
    assert (made.parts["a"].reached, made.parts["a"].compacted) == (9, 8)


def test_a_change_of_no_resource_goes_to_whom_it_belongs() -> None:
    made = Registries()
    for name in "abc":
        made.common.unowned.put(ROOT + name.encode() + b"/other/x", canonical("x"), 8)
    assert made.parts["a"].unowned.size
    assert list(made.common.takings[b"b"].changes) == [ROOT + b"b/other/x"]
    assert made.stirred == ["c"]
    made.common.unowned.remove(ROOT + b"b/other/x")
    assert made.common.takings[b"b"].changes == {ROOT + b"b/other/x": None}
    made.common.unowned.remove(ROOT + b"c/other/x")
    assert made.stirred == ["c", "c"], "a controller has to look at what belonged to it"
    made.common.unowned.remove(ROOT + b"c/events/n/x")
    assert made.stirred == ["c", "c"], "an event that expires wakes nobody"


def test_a_load_of_everything_makes_what_is_being_attached_void() -> None:
    made = Registries()
    made.common.unowned.start_over()
    assert made.common.takings[b"b"].void


async def test_nothing_is_left_of_a_part_that_has_ended() -> None:
    made = Registries()
    part, cache = made.parts["a"], made.caches["a"]
    told: list[object] = []
    cache.listen(told.append)
    cache.put(part.root + b"pods/n/x", canonical("x"), 8)
    part.end()
    assert told[-1] is None, "those who listen forget it"
    assert cache.closed and not len(cache) and not list(part)
    part.remove(cache)  # a kind that goes later finds nothing to remove


async def test_a_part_that_is_not_attached_is_never_fresh() -> None:
    """Its caches are empty: a controller must not take that for the absence of objects."""
    made = Registries()
    ready = asyncio.Event()
    ready.set()
    for name, fresh in {"a": True, "b": False, "c": False}.items():
        reads = Reads(cast(EtcdClient, object()), made.parts[name], cast(Any, SimpleNamespace(fresh=ready.wait)))
        assert await reads.fresh() is fresh
        if not fresh:
            with pytest.raises(Unavailable):
                await all_seen(reads)


class Loads:
    """Loads of parts that end when the test says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.may_end: dict[bytes, asyncio.Event] = {}
        self.begun: asyncio.Queue[bytes] = asyncio.Queue()
        monkeypatch.setattr(common, "load", self.load)

    async def load(self, _client: object, root: bytes, *_: object, at: int = 0) -> Loaded:
        self.begun.put_nowait(root)
        await self.may_end.setdefault(root, asyncio.Event()).wait()
        return Loaded({root + b"pods/n/x": (canonical("x"), 3)}, at, None)

    def end(self, part: PartCache) -> None:
        self.may_end.setdefault(part.root, asyncio.Event()).set()


def common_of(made: Registries) -> Common:
    """With a feed that is ready."""
    ready = asyncio.Event()
    ready.set()
    feed, consistent = SimpleNamespace(ready=ready), SimpleNamespace(fresh=ready.wait)
    return Common(cast(EtcdClient, object()), made.common, cast(Any, feed), cast(Any, consistent))


async def test_a_slow_load_of_a_part_holds_no_other_one(monkeypatch: pytest.MonkeyPatch) -> None:
    made, loads = Registries(), Loads(monkeypatch)
    whole = common_of(made)
    slow = asyncio.create_task(whole.attach(made.parts["b"]))
    await loads.begun.get()
    loads.end(made.parts["c"])
    await whole.attach(made.parts["c"])
    assert made.parts["c"].attached and len(made.caches["c"]) == 1 and not made.parts["b"].attached
    loads.end(made.parts["b"])
    await slow
    assert made.parts["b"].attached


async def test_a_part_is_not_attached_while_everything_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The load of everything would lack it, and the feed would then remove its objects."""
    made, loads = Registries(), Loads(monkeypatch)
    whole, (a, b) = common_of(made), (made.parts["a"], made.parts["b"])
    attaching = asyncio.create_task(whole.attach(b))
    assert await loads.begun.get() == b.root

    async def revision(_root: bytes) -> int:
        return 9

    client: Any = SimpleNamespace(revision=revision)
    reading = asyncio.create_task(made.common.read(client, ROOT, b.kept, lambda _: None))
    assert await loads.begun.get() == a.root
    loads.end(b)
    await asyncio.wait({attaching}, timeout=0.1)
    assert not b.attached and not attaching.done()
    loads.end(a)
    assert (await reading).revision == 9
    await attaching
    assert b.attached and loads.begun.get_nowait() == b.root, "it was loaded again"


@pytest.mark.parametrize("begun", [None, 5])
async def test_a_part_with_another_beginning_is_neither_loaded_nor_attached(
    monkeypatch: pytest.MonkeyPatch, begun: int | None
) -> None:
    """Though the feed has missed the write of the key that says so, and also if the part had no seeds before."""
    made, replaced, loaded = Registries(), list[str](), list[bool]()
    made.common.replaced, made.common.loaded = replaced.append, lambda: loaded.append(True)
    a, b = made.parts["a"], made.parts["b"]
    for each in (a, b) if begun else ():
        born = KeyValue(each.root + BORN, b"{}", begun or 0, 5, 1)
        each.seeds = Seeds(each.root, born, Contents([]), lambda place: b"")

    async def load(_client: Any, root: bytes, *_: Any, **__: Any) -> Loaded:
        return Loaded({root + BORN: (b"{}", 8)}, 9, None)

    async def revision(_root: bytes) -> int:
        return 9

    monkeypatch.setattr(common, "load", load)
    with pytest.raises(WholeReplaced):
        await common_of(made).attach(b)
    assert not b.attached
    client: Any = SimpleNamespace(revision=revision, kv=None)
    found = await made.common.read(client, ROOT, a.kept, lambda _: None)
    assert not found.values and replaced == ["a"] and not made.common.parts and loaded


def seeded() -> tuple[CommonFeed, PartCache, Seeds]:
    """A feed, and an attached part with seeds of a registered resource and of none."""
    made = Registries()
    root = ROOT + b"s/"
    keys = [b"pods/n/x", b"widgets/n/x"]
    seeds = Seeds(root, KeyValue(root + b"born", b"", 5, 5, 1), Contents(keys), lambda place: canonical("x"))
    part = PartCache(made.common, "s", seeds)
    pods = part.register(replace(SPEC, prefix=root + b"pods/"))
    part.attached, made.common.parts[b"s"] = True, part
    pods.load([(root + keys[0], canonical("x"), 5)])
    part.unowned.put(root + keys[1], canonical("x"), 5)
    return CommonFeed(cast(EtcdClient, SimpleNamespace(members=1)), made.common), part, seeds


def marked(seeds: Seeds, key: bytes, revision: int, version: int = 1) -> KeyEvent:
    return KeyEvent(PUT, KeyValue(seeds.mark_of(seeds.root + key), b"", revision, 8, version), None)


@pytest.mark.parametrize("plural", [b"pods", b"widgets"])
def test_a_mark_of_another_process_deletes_its_seed(plural: bytes) -> None:
    """Also one of a resource that is not served here yet: else the object comes back when it is."""
    feed, part, seeds = seeded()
    feed._apply([marked(seeds, plural + b"/n/x", 8)])
    left = {key.removeprefix(seeds.root) for key in values_of(part) or () if MARKS not in key}
    assert left == {b"pods/n/x", b"widgets/n/x"} - {plural + b"/n/x"}


@pytest.mark.parametrize("plural", [b"pods", b"widgets"])
def test_a_mark_beside_a_put_deletes_nothing(plural: bytes) -> None:
    feed, part, seeds = seeded()
    key = seeds.root + plural + b"/n/x"
    feed._apply([KeyEvent(PUT, KeyValue(key, canonical("x"), 8, 8, 1), None), marked(seeds, plural + b"/n/x", 8)])
    feed._apply([marked(seeds, plural + b"/n/x", 9, version=2)])
    assert key in (values_of(part) or ())


def test_the_first_write_of_somebody_is_told() -> None:
    """Controllers that wait for it must miss none: of this process, of another one, or in a time that was not seen."""
    feed, part, seeds = seeded()
    told = list[bool]()

    def begun() -> list[bool]:
        part.is_as_begun, part.on_first_write = True, lambda: told.append(part.is_as_begun)
        return told

    def put(key: bytes) -> KeyEvent:
        return KeyEvent(PUT, KeyValue(seeds.root + key, canonical("y"), 8, 8, 1), None)

    begun()
    feed._apply([put(b"apiserver-gateway/roles")])
    assert part.is_as_begun and not told, "it is about the part"
    for events in ([put(b"pods/n/y")], [put(b"gadgets/n/y")], [marked(seeds, b"pods/n/x", 8)]):
        begun().clear()
        feed._apply(events)
        feed._apply(events)
        assert told == [False]
    begun().clear()
    feed._cache.unowned.start_over()
    assert told == [False], "all is loaded anew"


@pytest.mark.parametrize(("ends", "key", "told"), [(True, b"other/x", ["a"]), (False, b"other/x", []), (True, b"", [])])
def test_a_write_in_a_part_that_ends_is_told_when_it_has_ended(ends: bool, key: bytes, told: list[str]) -> None:
    """Its controllers run no more, so somebody has to look at it."""
    made = Registries()
    client = cast(EtcdClient, SimpleNamespace(members=1))
    feed = CommonFeed(client, made.common)
    whole = Common(client, made.common, feed, cast(Any, None))
    made.parts["a"].nobody_looks = ends
    if key:
        feed._apply([KeyEvent(PUT, KeyValue(ROOT + b"a/" + key, canonical("x"), 8, 8, 1), None)])
    whole.detach(made.parts["a"])
    assert made.stirred == told
