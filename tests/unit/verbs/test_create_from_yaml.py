"""YAML bodies become the JSON that kube-apiserver makes of them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.jsontypes import dumps
from gateway.schema.yaml_body import YamlError, parse_yaml


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", True),
        ("off", False),
        ("~", None),
        ("017", 15),
        ("0o17", 15),
        ("0x1F", 31),
        ("1_000", 1000),
        ("1.0", 1),
        ("1e3", 1000),
        (".5", 0.5),
        ("08", 8),
        ("1:30", "1:30"),
        ("2020-01-01", "2020-01-01"),
        ("1e400", "1e400"),
        ("'1'", "1"),
        ("!!str 1", "1"),
        ('!!int "2"', 2),
        ("1.2.3", "1.2.3"),
    ],
)
def test_scalars(text: str, value: Any) -> None:
    assert parse_yaml(f"a: {text}".encode()) == ({"a": value}, [])


def test_keys_become_strings() -> None:
    assert parse_yaml(b"{1: a, true: b, 1.5: c}")[0] == {"1": "a", "true": "b", "1.5": "c"}


def test_duplicate_keys_are_told_and_the_last_counts() -> None:
    assert parse_yaml(b"a: 1\nb: 2\na: 3\n") == ({"a": 3, "b": 2}, ['line 3: key "a" already set in map'])


def test_merges() -> None:
    assert parse_yaml(b"p: &p {a: 1}\nq: {<<: *p, b: 2}")[0]["q"] == {"a": 1, "b": 2}


def test_only_the_first_document_counts() -> None:
    assert parse_yaml(b"---\na: 1\n---\na: 2\n")[0] == {"a": 1}


@pytest.mark.parametrize("text", [b"a: [b\nc:\n", b"a:\n\tb: c\n", b"? [a]\n: b\n"])
def test_what_is_no_yaml(text: bytes) -> None:
    with pytest.raises(YamlError, match="yaml: "):
        parse_yaml(text)


def test_aliases_cannot_be_used_to_make_much_of_little() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    with pytest.raises(YamlError, match="alias"):
        parse_yaml("\n".join(lines).encode())


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text("abc \n:#-'\"0", max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab:", max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(_JSON)
def test_json_is_yaml(value: Any) -> None:
    assert parse_yaml(dumps(value))[0] == value
