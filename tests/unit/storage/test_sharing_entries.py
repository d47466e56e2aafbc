"""Entries whose bytes are in shared memory."""

from __future__ import annotations

import mmap
from dataclasses import replace

from storage.cache import ResourceCache
from storage.entry import MARK, RereadEntry, with_version
from storage.sharing.located_values import Located, SharedEntry, UnreadableShared, leave
from storage.sharing.records import UNREADABLE
from storage.sharing.segments import Segments
from storage.sharing.shelf import PublishedCache, Shelf
from storage.values import UnreadableValue
from tests.unit.storage.canonical import HEAD, ROOT, SPEC, canonical, key


def test_a_thread_that_is_about_to_read_an_entry_reads_it_when_its_segment_is_left() -> None:
    value = with_version(canonical("a"), 5)[:-1]
    segment = mmap.mmap(-1, len(value))
    segment[:] = value
    entry = SharedEntry(key("n", "a"), HEAD, Located(segment, 0, len(value), True), 5)
    tail, begun = entry.tail, [SharedEntry.__dict__[name].fget for name in ("tail", "piece", "size")]
    leave(entry, segment)
    segment.close()  # nothing points there any more
    assert [bytes(each(entry)) if each is not begun[2] else each(entry) for each in begun] == [tail, tail, len(tail)]
    assert entry.stored().value == canonical("a")


def test_what_cannot_be_decrypted_is_told_with_its_reason() -> None:
    shelf, value = Shelf(ROOT), UnreadableValue(b"k8s:enc:" + MARK)
    value.reason = "no key"
    shelf.put(key("n", "a"), value, 5)
    place = shelf.places[key("n", "a")]
    found = UnreadableShared(place.segment.map, place.start, place.end, False).raw()
    assert (found, found.reason, place.flags) == (value, "no key", UNREADABLE)
    assert shelf.has_unreadable()
    shelf.put(key("n", "a"), canonical("a"), 6)
    assert not shelf.has_unreadable()


def test_the_bytes_of_a_value_are_in_use_until_another_value_is_there() -> None:
    """A change that is told twice writes nothing, and leaves the bytes in use: else they would be given up."""
    shelf = Shelf(ROOT)

    def used() -> int:
        return sum(segment.live for segment in shelf.segments)

    shelf.put(key("n", "a"), canonical("a"), 5)
    first = shelf.places[key("n", "a")]
    assert used() == first.end - first.start
    shelf.put(key("n", "a"), canonical("a"), 5)
    assert shelf.places[key("n", "a")] is first and used() == first.end - first.start
    shelf.put(key("n", "a"), canonical("a", labels={"b": "c"}), 6)
    second = shelf.places[key("n", "a")]
    assert used() == second.end - second.start != first.end - first.start


def test_loads_that_fail_leave_no_memory_behind() -> None:
    cache = PublishedCache(ROOT)
    cache.shelf.segments = Segments(1 << 12)
    for _ in range(5):
        cache.begin_load(anew=True)
        for number in range(100):
            cache.kept(key("n", f"p{number}"), canonical(f"p{number}"), 1 + number)
        segments = len(list(cache.shelf.segments))
    assert segments <= 100 * len(with_version(canonical("p99"), 100)) // (1 << 12) + 3


def test_large_values_that_are_replaced_together_leave_no_memory_behind() -> None:
    shelf, size = Shelf(ROOT), 1 << 12
    shelf.segments = Segments(size)
    for revision in range(1, 2000, 20):
        for number in range(20):
            shelf.put(key("n", f"p{number}"), canonical(f"p{number}", labels={"v": "x" * 1000}), revision + number)
        shelf.wake()
    live = sum(place.end - place.start for place in shelf.places.values())
    assert sum(segment.size for segment in shelf.segments) < 2 * live + 3 * size


def test_a_value_of_another_minor_is_read_as_of_today_and_not_from_shared_memory() -> None:
    cache = ResourceCache(replace(SPEC, outdated=lambda value: b'"phase":"defaulted"' not in value))
    now = canonical("a", namespace="n", labels={}, spec={"phase": "defaulted"})
    for value, kind in ((canonical("a", namespace="n", labels={}), RereadEntry), (now, SharedEntry)):
        shown = with_version(value, 5)[:-1]
        segment = mmap.mmap(-1, len(shown))
        segment[:] = shown
        entry = cache.entry(key("n", "a"), Located(segment, 0, len(shown), True), 5)  # type: ignore[arg-type]
        assert type(entry) is kind and entry.stored().value == now
