"""Numbers in strings are parsed as by Go's strconv."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.schema.integers import LEAST, MOST, parse_int, parse_uint


@given(st.integers(LEAST, MOST), st.integers(0, 30))
def test_what_fits_is_read(number: int, zeros: int) -> None:
    text = f"{'-' if number < 0 else ''}{'0' * zeros}{abs(number)}"
    assert parse_int(text) == number


@given(st.integers(0, 2 * MOST + 1), st.integers(0, 30))
def test_without_a_sign_twice_as_much_fits(number: int, zeros: int) -> None:
    assert parse_uint("0" * zeros + str(number)) == number


@pytest.mark.parametrize("text", ["", "+", "-", "1_0", " 1", "1 ", "0x1", "1.0", "\u0661", "\xb2"])
def test_what_is_no_number(text: str) -> None:
    for parse in (parse_int, parse_uint):
        with pytest.raises(ValueError, match="invalid syntax"):
            parse(text)


@pytest.mark.parametrize("text", ["+1", "-1"])
def test_a_sign_is_for_those_that_may_be_negative(text: str) -> None:
    assert parse_int(text) == int(text)
    with pytest.raises(ValueError, match="invalid syntax"):
        parse_uint(text)


@pytest.mark.parametrize("text", [str(MOST + 1), str(LEAST - 1), "9" * 100_000, "-" + "9" * 20])
def test_what_does_not_fit(text: str) -> None:
    with pytest.raises(ValueError, match="value out of range"):
        parse_int(text)
    with pytest.raises(ValueError, match="value out of range"):
        parse_uint(str(2 * MOST + 2) if len(text) < 100 else text)
