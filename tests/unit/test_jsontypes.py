"""JSON values as Go's encoding/json writes and reads them."""

from __future__ import annotations

import pytest

from gateway.jsontypes import _MILLIONTHS, dumps, dumps_indented, dumps_with_floats, identical, loads


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


@pytest.mark.parametrize(
    "number",
    [
        "0.000001",
        "-0.0000015",
        "1e-7",
        "18446744073709552000",
        "-100000000000000000000",
        "123456789012345680000",
        "1e+21",
    ],
)
def test_indented_numbers_have_the_exponents_that_go_writes(number: str) -> None:
    text = f'{{\n  "a": [\n    {number}\n  ],\n  "b": "1e+20 1e-6"\n}}'
    assert dumps_indented(loads(text)).decode() == text
