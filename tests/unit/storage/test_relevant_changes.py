"""The index finds the same next change for a watch as a scan of all changes."""

from __future__ import annotations

from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from storage.relevant_changes import MOST, Concerning
from storage.waiters import Interest, InterestKind, values_of
from tests.examples import examples
from tests.unit.storage.canonical import SPEC, canonical, key, pods

STEP = st.tuples(st.sampled_from("xyz"), st.none() | st.sampled_from("012"))
INTERESTS = st.sampled_from(
    [Interest(InterestKind.KEY, "", key("a", name)) for name in "xyzw"]
    + [Interest(InterestKind.LABEL, "v", value) for value in "0123"]
    + [Interest(InterestKind.PREFIX, "", key("a", "")), Interest(InterestKind.FIELD, "metadata.name", "x")]
)


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.lists(STEP, max_size=12), max_size=4), INTERESTS, st.data())
async def test_it_is_what_a_search_finds(
    rounds: list[list[tuple[str, str]]], wanted: Interest, data: st.DataObject
) -> None:
    resource, revision = pods(), 0
    concerning, history = Concerning(resource.history, SPEC.labels_and_fields_of), resource.history
    with patch("storage.relevant_changes.FEW", 0):
        for steps in rounds:
            for name, value in steps:
                revision += 1
                if value is None:
                    resource.remove(key("a", name), revision)
                else:
                    resource.put(key("a", name), canonical(name, labels={"v": value}), revision)
            for _ in range(data.draw(st.integers(0, history.end - history.first))):
                history._drop()
            position = data.draw(st.integers(history.first, history.end))
            changes = history.between(position, history.end)
            expected = next(
                (
                    position + index
                    for index, change in enumerate(changes)
                    if wanted.value in set(values_of(wanted[:2], change, SPEC.labels_and_fields_of))
                ),
                history.end,
            )
            assert await concerning.next(wanted, position) == expected


async def test_what_is_known_is_bounded() -> None:
    resource = pods()
    for revision in range(200):
        resource.put(key("a", f"n{revision}"), canonical("n", labels={}), revision + 1)
    for label in range(100):
        await resource.concerning.next(Interest(InterestKind.LABEL, f"l{label}", "x"), 0)
    assert len(resource.concerning._found) <= MOST
