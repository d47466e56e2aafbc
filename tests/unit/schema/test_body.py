"""JSON bodies as Go's decoder reads them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.schema.body import DecodeError, parse_body, parse_exactly, parse_to_decode, plain
from gateway.schema.catalog import type_for
from gateway.schema.decode import DecodeReport, decode

TEXTS = st.text('a "\\/\n\x00é\u2028\U0001f600', max_size=5)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=12,
)


@given(VALUES, st.booleans())
def test_the_exact_parser_reads_what_any_json_writer_writes(value: object, ascii_only: bool) -> None:
    data = json.dumps(value, ensure_ascii=ascii_only, indent=1).encode("utf-8", "surrogatepass")
    assert plain(parse_exactly(data)) == value
    assert parse_body(data) == (value, [])


@pytest.mark.parametrize(
    ("body", "duplicates"),
    [
        ('{"a":1,"b":{"c":1,"c":2},"a":3}', ["b.c", "a"]),
        ('{"a" : [{"b":1 ,"b":1}]}', ["a[0].b"]),
        ('{"a\\u0022":1,"b":2}', []),
        ('{ "a": "<\\u003c>" }', []),
    ],
)
def test_duplicate_keys_are_found_in_any_spelling(body: str, duplicates: list[str]) -> None:
    assert parse_body(body.encode())[1] == [f'duplicate field "{path}"' for path in duplicates]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "unexpected end of JSON input"),
        (b'{"a":1', "unexpected end of JSON input"),
        (b"{'a'", "invalid character '\\'' looking for beginning of object key string"),
        (b'{"a":1,}', "invalid character '}' looking for beginning of object key string"),
        (b'{"a":01}', "invalid character '1' after object key:value pair"),
        (b"[1 2]", "invalid character '2' after array element"),
        (b'{"a"}', "invalid character '}' after object key"),
        (b"{} x", "invalid character 'x' after top-level value"),
        (b"tru", "invalid character ' ' in literal true (expecting 'e')"),
        (b"NaN", "invalid character 'N' looking for beginning of value"),
        (b'"\\x"', "invalid character 'x' in string escape code"),
        (b'"\n"', "invalid character '\\n' in string literal"),
        (b"1.x", "invalid character 'x' after decimal point in numeric literal"),
        (b"\xef\xbb\xbf{}", "invalid character 'ï' looking for beginning of value"),
        (b"[" * 10001, "invalid character '[' exceeded max depth"),
    ],
)
def test_syntax_errors_have_the_words_of_go(body: bytes, message: str) -> None:
    with pytest.raises(DecodeError) as caught:
        parse_body(body)
    assert str(caught.value) == message


def test_broken_text_becomes_replacement_characters() -> None:
    assert parse_body(b'{"x":"\xff\xfe\\ud83d"}')[0] == {"x": "\ufffd\ufffd\ufffd"}
    assert parse_body(b'{"x":"\\ud83d\\ude00"}')[0] == {"x": "\U0001f600"}


def test_deep_nesting_is_read() -> None:
    value, _ = parse_body(b"[" * 5000 + b"]" * 5000)
    assert value[0][0][0]


@pytest.mark.parametrize("number", ["1e999", "-1e999", "9" * 310])
def test_a_number_that_no_float_holds_is_not_lost(number: str) -> None:
    body = f'{{"a": [{{"b": "1e999"}}], "c": [{{"d": {number}}}, 1e1000]}}'.encode()
    found, _ = parse_to_decode(body)
    assert found.too_large == number
    for data in (body, b"[%b]" % body, number.encode()):
        with pytest.raises(
            DecodeError, match=f"^json: cannot unmarshal number {number} into Go value of type float64$"
        ):
            parse_body(data)


@pytest.mark.parametrize("number", ["1e308", "1" * 309, "1e-999", "-0.0"])
def test_numbers_that_a_float_holds_are_read(number: str) -> None:
    assert parse_body(f'{{"a": {number}}}'.encode(), "value") == ({"a": float(number)}, [])


def test_problems_with_long_paths_are_few() -> None:
    """Each of many unknown or repeated fields would name the same long key."""
    key, count = "k" * 200_000, 90
    twice = ",".join(f'"a{n}":1,"a{n}":1' for n in range(count))
    assert len(parse_body(f'{{"{key}":{{{twice}}}}}'.encode())[1]) == 2
    report = DecodeReport()
    decode(type_for("", "v1", "ConfigMap"), {f"{key}{n}": 1 for n in range(count)}, report)
    assert len(report.problems) == 2
