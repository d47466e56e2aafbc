"""The recent changes of a resource: what is kept, what is dropped, and who is notified."""

from __future__ import annotations

from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.entry import Change, ChangeType, Entry
from storage.history import GROWTH, MIN_CHANGES, YOUNG, History, Overrun, Share


def change(revision: int, size: int = 0) -> Change:
    previous = Entry(b"k", b"", b"x" * size, revision - 1) if size else None
    return Change(ChangeType.MODIFIED, revision, Entry(b"k", b"", b"", revision), previous)


def filled(revisions: range, max_changes: int = 20_000, max_bytes: int = 1 << 30, size: int = 0) -> History:
    ticks = count(0, 1000)
    history = History(revisions.start - 1, max_changes, max_bytes, clock=lambda: next(ticks))
    for revision in revisions:
        history.append(change(revision, size))
    return history


def revisions_of(changes: list[Change]) -> list[int]:
    return [each.revision for each in changes]


def newer(history: History, revision: int) -> list[int]:
    return revisions_of(history.between(history.position_after(revision), history.end))


def test_the_oldest_changes_go_first_when_there_are_too_many() -> None:
    history = filled(range(1, 1001), max_changes=300)
    assert (history.first, history.end, history.start) == (700, 1000, 700)
    assert revisions_of(history.between(700, history.end)) == list(range(701, 1001))


def test_bytes_that_only_the_history_keeps_alive_are_bounded() -> None:
    history = filled(range(1, 1001), max_bytes=400 * 1200, size=1000)
    assert history.end - history.first == 400


def test_a_deletion_keeps_two_versions_alive() -> None:
    last = Entry(b"k", b"", b'"uid":"u","resourceVersion":"1"' + b"x" * 969, 1)
    history = History(0, max_bytes=20 * 2200, clock=lambda: 0.0, share=Share(limit=0))
    for revision in range(2, 100):
        history.append(Change(ChangeType.DELETED, revision, last.at(revision), last))
    assert history.end - history.first in (19, 20)


def test_some_changes_are_kept_whatever_their_size() -> None:
    history = filled(range(1, 1001), max_bytes=1, size=1000)
    assert history.end - history.first == MIN_CHANGES


def test_who_has_not_read_what_is_dropped_is_overrun() -> None:
    history = filled(range(1, 1001), max_changes=300)
    with pytest.raises(Overrun):
        history.between(699, 705)
    with pytest.raises(Overrun):
        history.position_after(699)
    with pytest.raises(Overrun):
        history.position_after(699)


def test_changes_with_one_revision_are_one_step() -> None:
    history = History(9)
    for revision in (10, 10, 10, 12):
        history.append(change(revision))
    assert [history.position_after(revision) for revision in (9, 10, 11, 12, 99)] == [0, 3, 3, 4, 4]
    assert newer(history, 9) == [10, 10, 10, 12]
    assert newer(history, 10) == [12]


def test_what_a_reload_skipped_stays_unknown_when_old_changes_are_dropped() -> None:
    """After a reload the history has a gap below its start, whatever changes from before it are still kept."""
    history = filled(range(1, 301), max_changes=300)
    history.start = 500
    for revision in range(501, 551):
        history.append(change(revision))
    assert history.start == 500
    with pytest.raises(Overrun):
        history.position_after(400)
    assert revisions_of(history.between(history.position_after(500), history.end)) == list(range(501, 551))


@given(st.integers(1, 700), st.integers(256, 600), st.data())
def test_a_position_gives_exactly_what_is_newer(count: int, kept: int, data: st.DataObject) -> None:
    history = filled(range(1, count + 1), max_changes=kept)
    revision = data.draw(st.integers(history.start, count))
    position = history.position_after(revision)
    end = data.draw(st.integers(position, history.end))
    assert revisions_of(history.between(position, history.end)) == list(range(revision + 1, count + 1))
    assert revisions_of(history.between(position, end)) == list(range(revision + 1, revision + 1 + end - position))
    assert newer(history, revision) == list(range(revision + 1, count + 1))


def test_what_is_young_is_kept_beyond_the_bounds_up_to_harder_ones() -> None:
    now, share = 0.0, Share(limit=10_000)
    history = History(0, max_changes=10, share=share, clock=lambda: now)
    for revision in range(1, 31):
        history.append(change(revision))
    assert history.end - history.first == 30
    for revision in range(31, 60):
        history.append(change(revision))
    assert history.end - history.first == GROWTH * 10
    now = YOUNG + 1
    history.append(change(60))
    assert history.end - history.first == 10


def test_histories_share_what_they_may_take_beyond_their_bounds() -> None:
    share = Share(limit=20_000)
    one, other = (History(0, max_bytes=10_000, share=share, clock=lambda: 0.0) for _ in range(2))
    for revision in range(1, 26):
        one.append(change(revision, 1000))
    assert (one.end - one.first, share.used) == (25, 20_000)
    for revision in range(1, 26):
        other.append(change(revision, 1000))
    assert share.used <= share.limit and other.end - other.first == 8
    one.start_over()
    assert share.used == other._extra


def test_a_revision_is_not_parted() -> None:
    history = History(9)
    for revision in (10, 10, 10, 12, 12):
        history.append(change(revision))
    assert [history.whole(end) for end in range(6)] == [0, 3, 3, 3, 5, 5]
