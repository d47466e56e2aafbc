"""The data of the flight recorder is bounded by bytes, and the newest is kept."""

from __future__ import annotations

from typing import cast

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.requests.parts import Gateway
from gateway.trials import story as stories
from gateway.trials.recorder import CHANGE, FlightRecorder, RecordedVersion
from gateway.trials.story import story
from storage.entry import Change, ChangeType, Entry, entry_of
from tests.unit.storage.canonical import HEAD, canonical, key

LIMIT = 20_000


def change(number: int, size: int) -> RecordedVersion:
    entry = Entry(b"/registry/configmaps/default/a", b"{", b"x" * size, number)
    return RecordedVersion(0, Change(ChangeType.MODIFIED, number, entry, None), ("", "configmaps"))


@given(st.lists(st.integers(0, 8000), min_size=1, max_size=60), st.integers(0, 70), st.integers(1, 70))
def test_the_oldest_goes_when_there_is_too_much(sizes: list[int], since: int, most: int) -> None:
    recorder = FlightRecorder(cast(Gateway, None), LIMIT)  # it is not started: it asks nobody
    for number, size in enumerate(sizes, 1):
        recorder.keep(change(number, size))
    kept = list(recorder)
    assert sum(each.size for each in kept) <= LIMIT
    assert [each.number for each in kept] == list(range(recorder.dropped + 1, len(sizes) + 1))
    if recorder.dropped:
        assert sum(each.size for each in kept) + CHANGE + sizes[recorder.dropped - 1] > LIMIT
    wanted = [each.number for each in kept if each.number > since][-most:]
    assert [each.number for each in recorder.since(since, most)] == wanted


def gone(name: str, uid: str, revision: int) -> list[RecordedVersion]:
    """An object that is created, marked as deleted, and deleted."""
    made = entry_of(key("n", name), canonical(name, uid=uid), revision, HEAD)
    stamp = {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["example.com/a"]}
    marked = entry_of(key("n", name), canonical(name, uid=uid, **stamp), revision + 1, HEAD)
    changes = [
        Change(ChangeType.ADDED, revision, made, None),
        Change(ChangeType.MODIFIED, revision + 1, marked, made),
        Change(ChangeType.DELETED, revision + 2, marked.at(revision + 2), marked),
    ]
    return [RecordedVersion(0, change, ("", "pods")) for change in changes]


async def test_why_an_object_is_gone_is_said_of_many_of_one_name_in_linear_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked: list[Entry] = []
    uid_of = stories._uid
    monkeypatch.setattr(stories, "_uid", lambda entry: looked.append(entry) or uid_of(entry))
    recorder, lives = FlightRecorder(cast(Gateway, None)), 200
    for life in range(lives):
        for changed in gone("a", f"u-{life}", 10 + 3 * life):
            recorder.keep(changed)
    told = orjson.loads(await story(recorder))["gone"]
    assert [each["n"] for each in told] == list(range(3, 3 * lives + 1, 3))
    for life, each in enumerate(told):
        assert each["why"] == [
            f"deleted by another server at revision {11 + 3 * life}",
            "waited for its finalizers: example.com/a",
            "the last of what it waited for was removed by another server",
        ]
    assert len(looked) <= 5 * lives
