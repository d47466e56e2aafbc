"""JSON values as Go's encoding/json writes and reads them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.jsontypes import (
    _MILLIONTHS,
    _has_large,
    _identical_as_read,
    dumps,
    dumps_sorted,
    dumps_with_floats,
    identical,
    loads,
)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        ("0.00001", "0.00001"),
        ("9.99e-6", "0.00000999"),
        ("-1e-6", "-0.000001"),
        ("0.0000015", "0.0000015"),
        ("9.9e-7", "9.9e-7"),
        ("1e-16", "1e-16"),
        ("5e-324", "5e-324"),
        ("1.5", "1.5"),
        ("1e21", "1e+21"),
    ],
)
def test_floats_have_an_exponent_where_go_writes_one(number: str, text: str) -> None:
    value = {"a": loads(number), "b": [loads(number), "1e-6", 'said {"v":1e-6}'], "1e-6": True}
    written = '{"a":%s,"b":[%s,"1e-6","said {\\"v\\":1e-6}"],"1e-6":true}'
    assert dumps_with_floats(value).decode() == written % (text, text)
    assert _MILLIONTHS.search(dumps(value))


def test_names_are_no_floats() -> None:
    value = {"name": "node-6", "count": 1e-7}
    assert not _MILLIONTHS.search(dumps(value)) and dumps_with_floats(value) == dumps(value)


@pytest.mark.parametrize("levels", [250, 300, 490])
def test_floats_of_what_is_deep_are_written(levels: int) -> None:
    """orjson encodes 254 levels. A deeper value is encoded in another way, also beside a string that looks like such a
    float.
    """
    value = {"said": "5e-6", "a": 5e-6}
    for _ in range(levels):
        value = {"a": value}
    assert loads(dumps_with_floats(value)) == value


@pytest.mark.parametrize("number", [2**63, 2**64 - 1, 2**64, -(2**63) - 1, 10**20])
def test_an_integer_beyond_64_bits_is_the_float_that_go_reads_it_as(number: int) -> None:
    written = int(float(number))
    assert identical({"a": number}, {"a": written})
    assert identical([number], [float(number)])
    assert not identical({"a": number}, {"a": number * 2})


def test_integers_of_64_bits_are_told_apart() -> None:
    assert not identical(2**63 - 1, 2**63 - 2)
    assert not identical(2**53 + 1, float(2**53))


_LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from([2**63, 2**63 + 1, 2.0**63, 2**64, 10**20, 1.0, 0.5]),
    st.sampled_from(["", "a"]),
)  # fmt: skip
_VALUES = st.recursive(
    _LEAVES, lambda below: st.lists(below, max_size=3) | st.dictionaries(st.sampled_from("abc"), below, max_size=3)
)


def _the_long_way(one: Any, other: Any) -> bool:
    if one == other and dumps_sorted(one) == dumps_sorted(other):
        return True
    return (_has_large(one) or _has_large(other)) and _identical_as_read(one, other)


@given(_VALUES, _VALUES, st.integers(0, 9))
def test_a_look_at_the_first_levels_finds_what_the_long_way_finds(one: Any, other: Any, levels: int) -> None:
    for _ in range(levels):
        one, other = {"a": one, "b": [1]}, {"a": other, "b": [1]}
    assert identical(one, other) == _the_long_way(one, other)
    assert identical(one, one)
