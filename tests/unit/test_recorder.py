"""What a flight recorder keeps is bounded by bytes, and the newest of it stays."""

from __future__ import annotations

from typing import cast

from hypothesis import given
from hypothesis import strategies as st

from gateway.requests.parts import Gateway
from gateway.trials.recorder import CHANGE, Changed, Recorder
from storage.entry import Change, ChangeType, Entry

LIMIT = 20_000


def change(number: int, size: int) -> Changed:
    entry = Entry(b"/registry/configmaps/default/a", b"{", b"x" * size, number)
    return Changed(0, Change(ChangeType.MODIFIED, number, entry, None), ("", "configmaps"))


@given(st.lists(st.integers(0, 8000), min_size=1, max_size=60), st.integers(0, 70), st.integers(1, 70))
def test_the_oldest_goes_when_there_is_too_much(sizes: list[int], since: int, most: int) -> None:
    recorder = Recorder(cast(Gateway, None), LIMIT)  # it is not started: it asks nobody
    for number, size in enumerate(sizes, 1):
        recorder.keep(change(number, size))
    kept = list(recorder)
    assert sum(each.size for each in kept) <= LIMIT
    assert [each.number for each in kept] == list(range(recorder.dropped + 1, len(sizes) + 1))
    if recorder.dropped:
        assert sum(each.size for each in kept) + CHANGE + sizes[recorder.dropped - 1] > LIMIT
    wanted = [each.number for each in kept if each.number > since][-most:]
    assert [each.number for each in recorder.since(since, most)] == wanted
