"""Keys without a resource are kept as in etcd, up to a limit; dropped ones are marked as such."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.unowned_objects import Taking, Unowned, Values
from tests.unit.storage.canonical import ROOT

KEYS = st.sampled_from([ROOT + rest for rest in (b"a/x/1", b"a/x/2", b"a/y/1", b"b/1", b"b/2")])
PREFIXES = st.sampled_from([ROOT + b"a/x/", ROOT + b"a/y/", ROOT + b"b/"])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), KEYS, st.integers(0, 300)),
        st.tuples(st.just("remove"), KEYS),
        st.tuples(st.just("take"), PREFIXES),
        st.tuples(st.just("give"), PREFIXES),
        st.tuples(st.just("finish"), PREFIXES),
    ),
    max_size=50,
)


@given(STEPS)
def test_it_has_what_was_written_and_not_what_was_taken(steps: list[tuple[object, ...]]) -> None:
    unowned, expected = Unowned(ROOT), dict[bytes, bytes]()
    takings: dict[bytes, Taking] = {}
    finished: set[bytes] = set()
    for revision, step in enumerate(steps, start=1):
        match step:
            case ("put", bytes(key), int(size)):
                unowned.put(key, b"v" * size, revision)
                expected[key] = b"v" * size
            case ("remove", bytes(key)):
                unowned.remove(key)
                expected.pop(key, None)
            case ("take", bytes(prefix)) if prefix not in takings and prefix not in finished:
                takings[prefix] = unowned.take(prefix)
            case ("give", bytes(prefix)) if prefix in takings:
                unowned.give_back(takings.pop(prefix))
            case ("finish", bytes(prefix)) if prefix in takings:
                unowned.finish(takings.pop(prefix))
                for key in [key for key in expected if key.startswith(prefix)]:
                    del expected[key]
    for taking in takings.values():
        unowned.give_back(taking)
    assert kept(unowned) == expected
    for prefix in (b"a/x/", b"a/y/", b"b/"):
        unowned.take(ROOT + prefix)
    assert unowned.size == 0


def kept(unowned: Unowned) -> dict[bytes, bytes]:
    found: Values = {key: each for values in unowned._segments.values() for key, each in values.items()}
    return {key: value for key, (value, _) in found.items() if isinstance(value, bytes)}


def test_the_largest_part_goes_when_it_is_too_much(caplog: pytest.LogCaptureFixture) -> None:
    unowned = Unowned(ROOT, limit=2000)
    unowned.put(ROOT + b"small/1", b"v", 1)
    unowned.put(ROOT + b"large/1", b"v" * 1000, 2)
    unowned.put(ROOT + b"large/2", b"v" * 1000, 3)
    assert unowned.dropped == {b"large"} and unowned.size < 300
    assert "objects of no registered resource exceed the limit" in caplog.text
    unowned.put(ROOT + b"large/3", b"v", 4)
    assert unowned.take(ROOT + b"large/").values is None
    assert unowned.take(ROOT + b"small/").values == {ROOT + b"small/1": (b"v", 1)}
    unowned.start_over()
    unowned.put(ROOT + b"large/3", b"v", 4)
    assert unowned.take(ROOT + b"large/").values == {ROOT + b"large/3": (b"v", 4)}
