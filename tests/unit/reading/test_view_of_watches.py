"""Events of watches: selection, transitions, and encoded bytes that all watches share."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.reading.view import PART, WatchView
from storage.cache import ResourceCache
from storage.entry import ChangeType, Entry, LabelsAndFields
from storage.history import Overrun
from storage.reads import Match
from tests.unit.storage.canonical import HEAD, PREFIX, canonical, key, pods

encoded: list[Entry] = []


def view(resource: ResourceCache, prefix: bytes = PREFIX, match: Match | None = None) -> WatchView:
    def encode(type_: ChangeType, entry: Entry) -> bytes:
        encoded.append(entry)
        return b'{"type":"%b","object":%b}\n' % (type_.value, HEAD + entry.tail)

    encoded.clear()
    return WatchView(resource, prefix, match, encode)


def is_web(attributes: LabelsAndFields) -> bool:
    return attributes.labels.get("app") == "web"


def events(chunk: bytes) -> list[tuple[str, str, str]]:
    """(type, name, resourceVersion) of each event."""
    found = []
    for line in chunk.splitlines():
        event: dict[str, Any] = orjson.loads(line)
        metadata = event["object"]["metadata"]
        found.append((event["type"], metadata["name"], metadata["resourceVersion"]))
    return found


def test_an_object_that_starts_or_stops_to_match_appears_or_disappears() -> None:
    resource = pods()
    for revision, app in enumerate(["db", "web", "web", "db", "web"], start=1):
        resource.put(
            key("n", "a"), canonical("a", labels={"app": app}, annotations={"at": app + str(revision)}), revision
        )
    resource.remove(key("n", "a"), 6)
    resource.put(key("n", "b"), canonical("b", labels={"app": "db"}), 7)
    resource.remove(key("n", "b"), 8)
    chunk, position = view(resource, match=is_web).chunk(0)
    assert position == resource.history.end
    assert events(chunk) == [
        ("ADDED", "a", "2"),
        ("MODIFIED", "a", "3"),
        ("DELETED", "a", "4"),
        ("ADDED", "a", "5"),
        ("DELETED", "a", "6"),
    ]
    gone = orjson.loads(chunk.splitlines()[2])["object"]["metadata"]
    assert (gone["labels"], gone["annotations"]) == ({"app": "web"}, {"at": "web3"}), "as it was when it last matched"


def test_those_who_watch_keep_what_could_be_read_last() -> None:
    resource = pods()
    web = canonical("a", labels={"app": "web"})
    for revision, value in enumerate([b"?", web, b"?", b"??", web, b"?"], start=1):
        resource.put(key("n", "a"), value, revision)
    resource.remove(key("n", "a"), 7)
    resource.put(key("n", "b"), b"?", 8)
    resource.remove(key("n", "b"), 9)
    seen = [("ADDED", "a", "2"), ("MODIFIED", "a", "5"), ("DELETED", "a", "7")]
    assert events(view(resource).chunk(0)[0]) == seen
    assert events(view(resource, match=is_web).chunk(0)[0]) == [*seen[:2], ("DELETED", "a", "7")]


def test_a_view_of_a_namespace_sees_no_other() -> None:
    resource = pods()
    for revision, namespace in enumerate(["a", "ab", "a-b", "a"], start=1):
        resource.put(key(namespace, "x"), canonical("x"), revision)
    chunk, _ = view(resource, key("a", "")).chunk(0)
    assert events(chunk) == [("ADDED", "x", "1"), ("MODIFIED", "x", "4")]


@given(st.integers(1, 3 * PART), st.integers(0, PART))
def test_steps_lead_through_all_changes(changes: int, start: int) -> None:
    resource = pods()
    for revision in range(1, changes + 1):
        resource.put(key("n", f"p{revision}"), canonical(f"p{revision}"), revision)
    start = min(start, changes)
    seen, position, shown = [], start, view(resource)
    while position < resource.history.end:
        chunk, position = shown.chunk(position)
        seen += events(chunk)
    assert [revision for _, _, revision in seen] == [str(revision) for revision in range(start + 1, changes + 1)]


def test_events_are_made_once_for_all_watchers() -> None:
    resource = pods()
    resource.put(key("n", "a"), canonical("a"), 1)
    shared = view(resource)
    first, _ = shared.chunk(0)
    again, _ = shared.chunk(0)
    assert first is again and len(encoded) == 1


def test_who_is_too_slow_learns_it() -> None:
    resource = pods()
    resource.history._max_changes = 1
    for revision in range(1, 600):
        resource.put(key("n", "a"), canonical("a"), revision)
    with pytest.raises(Overrun):
        view(resource).chunk(0)
