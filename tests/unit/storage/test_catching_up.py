"""Reads of etcd's history are split at revisions: a watch that resumes names one, and must miss nothing of it."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from storage import catching_up
from storage.etcd import PUT, KeyEvent, KeyValue


def _event(revision: int, size: int) -> KeyEvent:
    return KeyEvent(PUT, KeyValue(b"k", b"x" * size, revision, 0, 0), None)


@given(st.lists(st.tuples(st.integers(1, 5), st.sampled_from([0, 100, 700_000])), max_size=60))
def test_no_revision_is_parted(revisions: list[tuple[int, int]]) -> None:
    events = [_event(number, size) for number, (count, size) in enumerate(revisions, 1) for _ in range(count)]
    found = list(catching_up._parts(events))
    assert [event for part in found for event in part] == events
    for before, after in pairwise(found):
        assert before[-1].kv.mod_revision < after[0].kv.mod_revision
        size = sum(len(event.kv.value) for event in before)
        assert len(before) >= catching_up.PART or size >= catching_up.PART_BYTES


def test_many_deletions_of_one_revision_come_together() -> None:
    """As when a lease expires that a thousand events were written under."""
    events = [_event(7, 500)] + [_event(8, 500)] * 1000 + [_event(9, 500)]
    assert max(len(part) for part in catching_up._parts(events)) >= 1000
