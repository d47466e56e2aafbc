"""application/yaml: all readers read strings as strings, also Go's, which takes more of them for numbers."""

from __future__ import annotations

import orjson
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gateway.encodings.yaml import to_yaml

scalars = st.text(max_size=12) | st.integers(-(2**63), 2**63 - 1) | st.booleans() | st.none()
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
)


@given(values)
def test_what_is_read_is_what_was_written(value: object) -> None:
    text = to_yaml(orjson.dumps(value))
    assert yaml.safe_load(text) == value


@pytest.mark.parametrize(
    "text", ["y", "N", "yes", "off", "1e3", "-.5E2", "1_000", "0o17", "0x1f", "1:30", "2026-01-01", "~", "null", ""]
)
def test_a_text_that_go_takes_for_something_else_is_quoted(text: str) -> None:
    assert to_yaml(orjson.dumps({"key": text, text: "value"})).count(b'"%b"' % text.encode()) == 2


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("x\ny\n", "|\n  x\n  y\n"),
        ("x\ny", "|-\n  x\n  y\n"),
        ("x\n\n", "|+\n  x\n\n"),
        ("x \ny", '"x \\ny"\n'),
        ("a: b", "'a: b'\n"),
        ("tab\there", '"tab\\there"\n'),
    ],
)
def test_texts_have_the_style_that_goyaml_gives_them(text: str, written: str) -> None:
    """As recorded from kube-apiserver, which renders by goyaml."""
    assert to_yaml(orjson.dumps({"key": text})) == f"key: {written}".encode()


@pytest.mark.parametrize("text", ["nginx", "1.2.3", "v1", "e3", "yaml", "1Gi", "no-name"])
def test_other_texts_are_plain(text: str) -> None:
    assert to_yaml(orjson.dumps({"key": text})) == b"key: %b\n" % text.encode()


@pytest.mark.parametrize(
    ("number", "written"),
    [
        ("100000000000000000000", "1e+20"),
        ("1234567.5", "1.2345675e+06"),
        ("123456.5", "123456.5"),
        ("1e-5", "1e-05"),
        ("0.0001", "0.0001"),
        ("-5.25", "-5.25"),
        ("-1.5e300", "-1.5e+300"),
        ("1e6", "1e+06"),
        ("100.0", "100"),
        ("0.0", "0"),
        ("9223372036854775807", "9223372036854775807"),
    ],
)
def test_numbers_are_written_as_goyaml_writes_them(number: str, written: str) -> None:
    assert to_yaml(b'{"key":%b}' % number.encode()) == f"key: {written}\n".encode()
