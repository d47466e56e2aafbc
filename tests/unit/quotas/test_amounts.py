"""Sums of quantities are exact: subtracting what was added gives the old sum."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gateway.quotas.amounts import MOST_DIGITS, bounded, increase, written
from gateway.schema.quantity import parse_quantity

TEXTS = st.builds(
    lambda size, suffix: f"{size}{suffix}",
    st.integers(0, 10**9),
    st.sampled_from(["", "m", "k", "Mi", "Gi", "e3", "e50", "e90", "e300000"]),
)


@given(st.lists(TEXTS, max_size=8))
def test_sums_of_bounded_amounts_come_back_to_nothing(texts: list[str]) -> None:
    amounts = [bounded(parse_quantity(text)) for text in texts]
    total = parse_quantity("0")
    for amount in amounts:
        total = total + amount
    for amount in reversed(amounts):
        total = total - amount
    assert not total


def test_small_amounts_are_not_lost_beside_great_ones() -> None:
    great, small = bounded(parse_quantity("1e300000")), parse_quantity("100m")
    assert great + small - great == small
    assert great.unscaled == 10**MOST_DIGITS


def test_an_increase_is_never_negative() -> None:
    one, two = ({"cpu": parse_quantity(text)} for text in ("1", "2"))
    assert written(increase(one, two)) == {"cpu": "0"} and written(increase(two, one)) == {"cpu": "1"}
