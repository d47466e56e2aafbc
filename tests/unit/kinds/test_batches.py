"""The objects of a list go to a conversion webhook in batches, bounded by number and by bytes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from gateway.kinds.batches import LARGEST, MOST, batches


@given(st.lists(st.integers(0, LARGEST + 5), max_size=12))
def test_a_batch_is_not_too_large_unless_it_is_one_object(sizes: list[int]) -> None:
    found = list(batches(sizes, lambda size: size))
    assert [size for batch in found for size in batch] == sizes
    assert all(len(batch) == 1 or sum(batch) <= LARGEST for batch in found)
    assert all(sum(one) + other[0] > LARGEST for one, other in pairwise(found))


def test_a_batch_has_not_too_many_objects() -> None:
    assert [len(batch) for batch in batches(range(2 * MOST + 1), lambda _: 1)] == [MOST, MOST, 1]


def test_nothing_is_taken_before_it_is_needed() -> None:
    taken: list[int] = []

    def items() -> Iterator[int]:
        for number in range(3 * MOST):
            taken.append(number)
            yield number

    next(batches(items(), lambda _: 1))
    assert len(taken) == MOST + 1
