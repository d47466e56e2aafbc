"""What caches have is counted with each change, whatever happens to the caches."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from storage.cache import ResourceCache
from storage.common import CommonCache, PartCache
from tests.unit.storage.canonical import SPEC, canonical

ROOT = b"/all/"


def part() -> PartCache:
    return PartCache(CommonCache(ROOT, lambda _: None), "one")


def counted(cache: PartCache) -> tuple[int, int]:
    entries = [entry for resource in cache for entry in resource.all_entries()]
    return len(entries), sum(entry.size for entry in entries)


def test_it_is_what_a_count_finds() -> None:
    random, cache = Random(1), part()
    pods, maps = (cache.register(replace(SPEC, prefix=cache.root + name)) for name in (b"pods/", b"maps/"))
    usage = cache.usage()
    for revision in range(1, 400):
        resource = random.choice((pods, maps))
        name = f"o{random.randrange(20)}"
        key = resource.spec.prefix + b"n/" + name.encode()
        if random.random() < 0.3:
            resource.remove(key, revision)
        else:
            resource.put(key, canonical(name, labels={"l": "x" * random.randrange(40)}), revision)
        if random.random() < 0.02:
            resource.load([(each.key, each, each.revision) for each in list(resource.all_entries())[::2]])
            resource.tell(None)
        assert (usage.objects, usage.bytes) == counted(cache)


def test_caches_come_and_go_and_are_replaced() -> None:
    cache = part()
    usage = cache.usage()
    first = cache.add(ResourceCache(replace(SPEC, prefix=cache.root + b"pods/")))
    key = first.spec.prefix + b"n/a"
    first.put(key, canonical("a"), 1)
    second = ResourceCache(first.spec)
    second.load([(key, canonical("a"), 1)])
    second.succeed(first)
    cache.add(second)
    second.put(first.spec.prefix + b"n/b", canonical("b"), 2)  # the former one gets it too
    assert (usage.objects, usage.bytes) == counted(cache) and usage.objects == 2
    cache.remove(second)
    assert (usage.objects, usage.bytes) == (0, 0)


def test_a_write_under_way_counts_once() -> None:
    cache = part()
    pods = cache.register(replace(SPEC, prefix=cache.root + b"pods/"))
    usage, key = cache.usage(), pods.spec.prefix + b"n/a"
    reserved = usage.reserve(key, 1, 100)
    assert (usage.objects, usage.bytes) == (1, 100)
    pods.put(key, canonical("a"), 1)
    usage.release(reserved)
    assert (usage.objects, usage.bytes) == counted(cache)


def test_two_writes_of_one_key_are_counted_by_themselves() -> None:
    cache = part()
    pods = cache.register(replace(SPEC, prefix=cache.root + b"pods/"))
    usage, key = cache.usage(), pods.spec.prefix + b"n/a"
    first, second = usage.reserve(key, 1, 100), usage.reserve(key, 1, 10)
    assert (usage.objects, usage.bytes) == (2, 110)
    usage.release(second)  # refused by etcd: the other one is still under way
    assert (usage.objects, usage.bytes) == (1, 100)
    third = usage.reserve(key, 0, 7)
    pods.put(key, canonical("a"), 1)
    assert usage.bytes == counted(cache)[1] + 7
    for each in (first, third):
        usage.release(each)
        usage.release(each)
    assert (usage.objects, usage.bytes) == counted(cache)
