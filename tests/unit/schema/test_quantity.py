"""Quantities: Kubernetes API reference, "Quantity"."""

import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.schema.quantity import WRONG_FORMAT, WRONG_SUFFIX, QuantityError, canonical, parse_quantity

SCALES = {
    **{suffix: Fraction(1000) ** power for power, suffix in enumerate(("n", "u", "m", "", "k", "M", "G", "T"), -3)},
    **{suffix: Fraction(1024) ** power for power, suffix in enumerate(("Ki", "Mi", "Gi"), 1)},
    "e3": Fraction(1000),
    "E-2": Fraction(1, 100),
}
EXACT = re.compile(r"([+-]?[\d.]+)(?:([eE][+-]?\d+)|([a-zA-Z]*))")
NUMBERS = st.tuples(
    st.sampled_from(["", "+", "-"]),
    st.integers(0, 10**8).map(str),
    st.integers(0, 10**6).map(lambda places: f".{places}") | st.just(""),
    st.sampled_from(sorted(SCALES)),
)


# results may be written with larger units than those that numbers are made of here
LARGER = {"P": Fraction(1000) ** 5, "E": Fraction(1000) ** 6} | {
    suffix: Fraction(1024) ** power for power, suffix in enumerate(("Ti", "Pi", "Ei"), 4)
}


def exact(text: str) -> Fraction:
    found = EXACT.fullmatch(text)
    assert found, text
    number, exponent, suffix = found.groups("")
    scale = Fraction(10) ** int(exponent[1:]) if exponent else (SCALES | LARGER)[suffix]
    value = Fraction(number) * scale * 10**9
    size = -(-abs(value.numerator) // value.denominator)
    return Fraction(size if value > 0 else -size, 10**9)


@given(NUMBERS.map("".join))
def test_the_value_is_kept_to_a_billionth_rounded_away_from_zero(text: str) -> None:
    quantity = parse_quantity(text)
    assert Fraction(quantity.unscaled) * Fraction(10) ** quantity.scale == exact(text)
    assert parse_quantity(canonical(text)) == quantity


@given(NUMBERS.map("".join), NUMBERS.map("".join))
def test_order_and_arithmetic_are_those_of_the_exact_numbers(one: str, other: str) -> None:
    left, right = parse_quantity(one), parse_quantity(other)
    assert (left < right, left == right) == (exact(one) < exact(other), exact(one) == exact(other))
    assert exact(str(left + right)) == exact(one) + exact(other)
    assert exact(str(left - right)) == exact(one) - exact(other)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("0.5", "500m"), ("1.5Gi", "1536Mi"), ("1000000", "1M"), ("1e3", "1e3"), ("1024Gi", "1Ti"), ("0.5Ki", "512"),
        ("0.1Ki", "102400m"), ("9223372036854775808", "9223372036854775808"), ("8Ei", "9223372036854775807"),
        ("0.0000000001", "1n"), ("+5", "+5"), ("0100", "0100"), ("1.", "1."), (".5", "500m"), ("0.000", "0"),
        ("-0", "0"), ("1000E", "1e21"), ("1500E", "1500E"), ("-12000000E", "-12e24"), ("1e2147483647", "10e2147483646"),
    ],
)  # fmt: skip
def test_texts_are_written_back_in_canonical_form(text: str, written: str) -> None:
    assert canonical(text) == written


@pytest.mark.parametrize(
    ("text", "message"),
    [("", WRONG_FORMAT), ("1 core", WRONG_FORMAT), ("1KB", WRONG_FORMAT), ("1e", WRONG_SUFFIX), ("--1", WRONG_SUFFIX)],
)
def test_refusals_say_which_part_is_wrong(text: str, message: str) -> None:
    with pytest.raises(QuantityError, match=r".*") as caught:
        parse_quantity(text)
    assert str(caught.value) == message


def test_huge_exponents_are_compared_without_writing_them_out() -> None:
    assert parse_quantity("1e2000000000") > parse_quantity("9e1999999999")


def test_values_in_other_units_are_rounded_up() -> None:
    assert (parse_quantity("1500m").value, parse_quantity("1").milli_value, parse_quantity("-1500m").value) == (
        2,
        1000,
        -2,
    )


@pytest.mark.parametrize(
    "text",
    [
        "1e2147483648",
        "1e4294967296",
        "1E-2147483649",
        "10e2147483647",
        "1000000000000000000000e2147483640",
        "1e00099999999999",
    ],
)
def test_exponents_of_more_than_32_bits_are_refused(text: str) -> None:
    with pytest.raises(QuantityError, match=re.escape(WRONG_SUFFIX)):
        parse_quantity(text)


@pytest.mark.parametrize("text", ["1e2147483647", "999e2147483640", "1e-2147483648", "5e0000000000000003"])
def test_what_is_written_back_can_be_read(text: str) -> None:
    assert parse_quantity(canonical(text)) == parse_quantity(text)


def test_sums_beyond_the_suffixes_keep_their_value() -> None:
    binary, decimal = parse_quantity("4Ei"), parse_quantity("500E")
    for _ in range(8):
        binary, decimal = binary + binary, decimal + decimal
    assert (str(binary), str(decimal)) == ("1024Ei", "128e21")
