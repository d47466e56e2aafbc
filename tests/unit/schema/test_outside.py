"""One bounded reader decodes all input from outside, and gives valid Unicode."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Callable, Iterator
from functools import partial
from math import isfinite
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.encodings import cbor
from gateway.http.escapes import text_of, unescaped, valid_escapes
from gateway.http.exchange import parse_query
from gateway.jsontypes import MAX_DEPTH, MOST_AT_ONCE, MOST_COLLECTIONS, MOST_NAMES, depth, dumps, members
from gateway.schema import body, outside
from gateway.schema.body import SLOWLY, parse_body
from gateway.schema.catalog import type_for
from gateway.schema.decode import parse_to_decode
from gateway.schema.errors import DecodeError, YamlError
from gateway.schema.outside import (
    MOST_MEMBERS,
    check_members,
    parsed_soon,
    read_json,
    read_object,
    read_object_soon,
    read_yaml,
)
from gateway.schema.protobuf import read_message
from gateway.text.unicode import valid
from gateway.time_limits import TakesLong, at_once, soon_or_in_thread

# texts with halves of surrogate pairs, as Python's own JSON writes them
TEXTS = st.text(st.one_of(st.characters(categories=("Cs",)), st.characters()), max_size=8)
VALUES = st.recursive(
    TEXTS | st.integers(-(1 << 60), 1 << 60) | st.booleans(),
    lambda each: st.lists(each, max_size=3) | st.dictionaries(TEXTS, each, max_size=3),
    max_leaves=8,
)


def replaced(value: Any) -> Any:
    """A value with U+FFFD where Go has it: for each half of a pair whose other half does not follow."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [replaced(each) for each in value]
    return {replaced(name): replaced(each) for name, each in value.items()} if isinstance(value, dict) else value


@given(VALUES)
def test_no_half_of_a_surrogate_pair_comes_in_by_json(value: Any) -> None:
    written = json.dumps(value).encode()
    for found in (read_json(written), parse_body(written)[0], parse_to_decode(written)[0]):
        dumps(found).decode()
        assert found == replaced(value)


# JSON of leaves that readers differ about: halves of pairs, invalid UTF-8, numbers without a float64, what is not JSON
LEAVES = [b"1", b'"a"', b"1e999", b"-1E+0400", b"7" * 210 + b"e99", b"9" * 400, b"1e-999", b"01", b"NaN", b'"\\x"']
LEAVES += [
    b'"\\uD800"',
    b'"\\\\ud800"',
    b'"\\ud83d\\ude00"',
    b'"\\udfff\\u0041"',
    b'"\xff"',
    b'"\xed\xa0\x80"',
    b'"\xc3\xa9"',
]
WRITTEN = st.recursive(
    st.sampled_from(LEAVES),
    lambda each: (
        st.lists(each, max_size=3).map(lambda found: b"[" + b",".join(found) + b"]")
        | each.map(lambda found: b'{"a":' + found + b"}")
    ),
    max_leaves=4,
)


def outcome(data: bytes) -> str:
    try:
        return repr(read_json(data))
    except DecodeError:
        return "refused"


def members_of(values: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    member = st.tuples(st.sampled_from(KEYS), values).map(b":".join)
    return st.lists(member, max_size=4).map(lambda found: b"{" + b",".join(found) + b"}")


KEYS = [b'"a"', b'"\\u0061"', b'"b"', b'"\\ud800"', b'"\xff"', b'"\\u0022"', b'"\\ud83d\\ude00"']
EDGES = [0, 1 << 53, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, 1 << 64, 10**19, 10**38, 10**39, 10**40, 10**300]
SIGNS = st.sampled_from([1, -1])
NUMBERS = st.one_of(
    st.builds(lambda edge, by, sign: b"%d" % (sign * (edge + by)), st.sampled_from(EDGES), st.integers(-2, 2), SIGNS),
    st.floats(allow_nan=False, allow_infinity=False).map(lambda number: repr(number).encode()),
    st.sampled_from([b"-0", b"-0.0", b"0e1", b"1E400", b"1e-400", b"-1.5e+3", b"1.0", b"5e-324", b"1e999"]),
)
DIFFERING = st.recursive(
    NUMBERS | st.sampled_from(LEAVES),
    lambda each: members_of(each) | st.lists(each, max_size=4).map(lambda found: b"[" + b",".join(found) + b"]"),
    max_leaves=8,
)


@given(DIFFERING, st.sampled_from([0, 1, 100, 240, 260]))
def test_the_size_of_the_rest_does_not_decide_what_is_read(written: bytes, levels: int) -> None:
    """The exact parser reads what is long: its value is that of the fast parser, with the same types."""
    data = b"[" * levels + written + b"]" * levels
    for read in (read_json, lambda each: parse_body(each)[0], lambda each: parse_to_decode(each)[0]):
        found = []
        for slowly in (False, True):
            with pytest.MonkeyPatch.context() as patch:
                if slowly:
                    patch.setattr(body, "read_at_once", lambda data: False)
                    patch.setattr(outside, "read_at_once", lambda data: False)
                try:
                    found.append(repr(read(data)))
                except DecodeError as error:
                    found.append(str(error))
        assert found[0] == found[1]


@given(WRITTEN, st.integers(0, 40), st.booleans())
def test_what_is_large_is_read_as_what_is_small(written: bytes, cut: int, shortened: bool) -> None:
    """If the fast reader refuses a large body, the slow reader gets it only where a slow read is allowed."""
    data = written[:cut] if shortened else written
    assert outcome(data) == outcome(data + b" " * (SLOWLY + 1))


@pytest.mark.parametrize("leaf", LEAVES)
def test_a_large_leaf_is_read_as_a_small_one(leaf: bytes) -> None:
    assert outcome(leaf) == outcome(leaf + b" " * (SLOWLY + 1))


@given(st.integers(1, MAX_DEPTH + 200), st.integers(0, MAX_DEPTH), st.booleans())
def test_the_depth_is_that_of_a_walk(levels: int, beside: int, objects: bool) -> None:
    opened, closed = (b'{"a":', b"}") if objects else (b"[", b"]")
    data = b"[" + b"[]," * beside + opened * levels + b"1" + closed * levels + b"]"
    assert (outcome(data) == "refused") is (depth(json.loads(data)) > MAX_DEPTH)


@given(VALUES)
def test_none_comes_in_by_yaml(value: Any) -> None:
    try:
        found, _ = read_yaml(json.dumps({"a": value}).encode())
    except YamlError:  # as goyaml refuses such an escape
        return
    dumps(found).decode()


@given(st.binary(max_size=40))
def test_none_comes_in_by_bytes(data: bytes) -> None:
    text_of(data).encode()
    for names in parse_query(data.replace(b"+", b"%")).items():
        str(names).encode()
    if valid_escapes(data):
        unescaped(data).encode()
    try:
        found = cbor.decode(data)
    except ValueError:
        return
    dumps(found)


@given(TEXTS)
def test_a_text_is_made_valid_once(text: str) -> None:
    found = valid(text)
    found.encode()
    assert valid(found) == found and len(found) == len(text)


@pytest.mark.parametrize(
    "data",
    [
        b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1),
        b"[" * 100_000,
        b'{"a":' * 700 + b"1" + b"}" * 700,
        b'"' + b"x" * 100 + b'"',
        b"{",
        b"NaN",
    ],
)
def test_what_is_too_deep_too_large_or_no_json_is_refused(data: bytes) -> None:
    with pytest.raises(DecodeError):
        read_json(data, 100 if data.startswith(b'"') else 1 << 20)
    assert read_object(data, 100 if data.startswith(b'"') else 1 << 20) is None


def test_what_is_just_not_too_deep_is_read() -> None:
    assert read_json(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH)


@pytest.mark.parametrize(
    "data",
    [
        b"a: &x {b: *x}",
        b"a: &a ["
        + b"x," * 9
        + b"x]\n"
        + b"".join(b"%c: &%c [%s]\n" % (98 + i, 98 + i, b",".join([b"*%c" % (97 + i)] * 10)) for i in range(7)),
        b"a:\n- &c " + b"x" * 60_000 + b"\n" + b"- *c\n" * 5000,
        b"[" * 1001 + b"]" * 1001,
    ],
)
def test_yaml_that_stands_for_too_much_is_refused(data: bytes) -> None:
    with pytest.raises(YamlError):
        read_yaml(data)


def test_a_second_document_is_refused_where_one_is_wanted() -> None:
    assert read_yaml(b"a: 1\n---\nb: 2\n") == ({"a": 1}, [])
    assert read_yaml(b"--- {a: 1}\n...\n", alone=True) == ({"a": 1}, [])
    with pytest.raises(YamlError, match="several documents"):
        read_yaml(b"a: 1\n---\nb: 2\n", alone=True)


@pytest.mark.parametrize("number", ["1e999", "-1E+0400", "9" * 400])
@pytest.mark.parametrize("form", ["{}", '{{"a": [{}]}}', "[1, {}]"])
def test_a_number_without_a_float64_is_refused_as_encoding_json_does(number: str, form: str) -> None:
    """Infinity would be written as null."""
    shown = number if len(number) < 100 else f"{number[:100]}..."
    said = f"json: cannot unmarshal number {shown} into Go value of type float64"
    with pytest.raises(DecodeError, match=f"^{re.escape(said)}$"):
        read_json(form.format(number).encode())


@given(st.binary(max_size=20) | st.sampled_from([b"\xfb\x7f\xf0" + bytes(6), b"\xf9\x7e\x00", b"\xfa\x7f\x80\x00\x00"]))
def test_no_number_that_json_lacks_comes_in(data: bytes) -> None:
    """What JSON, YAML or CBOR hold is written as JSON and read again as the same; infinity would become null."""
    for read in (read_json, lambda each: read_yaml(each)[0], cbor.decode):
        try:
            found = read(data)
        except ValueError:
            continue
        assert all(isfinite(each) for each in floats(found)), data


@pytest.mark.parametrize("word", [".inf", "-.Inf", ".nan", "1e999", "{a: -.INF}", "[.NaN]"])
def test_no_word_of_yaml_is_an_infinite_number(word: str) -> None:
    try:
        found = read_yaml(word.encode())[0]
    except ValueError:
        return
    assert all(isfinite(each) for each in floats(found))


def floats(value: Any) -> Iterator[float]:
    if isinstance(value, float):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from floats(each)


@pytest.mark.parametrize("member", [b'""', b"0", b'{"a":[1,2,3,4]}'])
def test_what_has_too_many_members_is_refused_before_it_is_parsed(member: bytes) -> None:
    most = (MOST_MEMBERS - 2) // (members(member) + 1)
    filler = b'"%b"' % (b"x" * MOST_MEMBERS)  # fewer bytes are not counted
    assert len(read_json(b"[" + (member + b",") * most + filler + b"]")) == most + 1
    with pytest.raises(DecodeError, match="more than 900000 members"):
        read_json(b"[" + (member + b",") * (most + 2) + filler + b"]")
    with pytest.raises(DecodeError, match="more than 900000 members"):
        check_members(b"[" + (member + b",") * (most + 2) + filler)  # no JSON: nothing has looked


class _Fast:
    """orjson, which notes how many members each of its calls has read."""

    dumps, JSONEncodeError = staticmethod(orjson.dumps), orjson.JSONEncodeError

    def __init__(self) -> None:
        self.most = 0

    def loads(self, data: bytes | bytearray) -> Any:
        self.most = max(self.most, members(data))
        return orjson.loads(data)


@pytest.mark.parametrize("member", [b'""', b"0", b"1.5", b'{"a":1}', b"[0]"])
@pytest.mark.parametrize("read", [read_json, lambda data: parse_body(data)[0], lambda data: parse_to_decode(data)[0]])
def test_no_call_of_the_fast_parser_reads_many_members(
    monkeypatch: pytest.MonkeyPatch, read: Callable[[bytes], Any], member: bytes
) -> None:
    """It keeps the GIL, in a thread, too. More members are read by the exact parser, as the same value."""
    fast = _Fast()
    monkeypatch.setattr(body, "orjson", fast)
    monkeypatch.setattr(outside, "orjson", fast)
    for count, by_fast in ((1000, True), (MOST_AT_ONCE // (members(member) + 1) + 2, False)):
        fast.most = 0
        data = b"[" + b",".join([member] * count) + b"]" + b" " * MOST_AT_ONCE
        assert read(data) == [json.loads(member)] * count
        assert (fast.most > 0) is by_fast and fast.most <= MOST_AT_ONCE


@pytest.mark.parametrize("data", [b"[]", b"{}", b"[" * 100 + b"]" * 100, b'{"a":{}}'])
def test_no_document_has_too_many_collections(data: bytes) -> None:
    """To free them is one step, and the collector looks at all of them in another."""
    many = b"[" + b",".join([data] * (MOST_COLLECTIONS // (data.count(b"[") + data.count(b"{")) + 2)) + b"]"
    for read in (read_json, parse_body, parse_to_decode, read_yaml):
        with pytest.raises((DecodeError, YamlError), match=f"more than {MOST_COLLECTIONS} "):
            read(many)


@pytest.mark.parametrize("most", [MOST_NAMES, MOST_NAMES + 1])
def test_no_object_has_too_many_members(most: int) -> None:
    """To sort their names is one step."""
    names = [f"{number * 7919 % most:x}" for number in range(most)]
    written = json.dumps(dict.fromkeys(names, "")).encode()
    unquoted = "".join(f"{name}x: ''\n" for name in names).encode()
    entries = b"".join(b"\x12" + bytes([len(name) + 2, 10, len(name)]) + name.encode() for name in names)
    items = b"".join(bytes([0x40 | len(name)]) + name.encode() + b"\x40" for name in names)
    readers: dict[Callable[[bytes], Any], bytes] = {
        read_json: written,
        parse_body: written,
        read_yaml: unquoted,
        partial(read_message, type_for("", "v1", "ConfigMap")): entries,
        cbor.decode: b"\xbf" + items + b"\xff",
    }
    for read, data in readers.items():
        if most == MOST_NAMES:
            assert read(data)
        else:
            with pytest.raises(ValueError, match=f"more than {MOST_NAMES} "):
                read(data)


def test_on_the_loop_nothing_is_read_slowly() -> None:
    async def read() -> Any:
        return read_json(b"[" + b",".join([b"0"] * (MOST_AT_ONCE + 2)) + b"]")

    with pytest.raises(DecodeError, match="too many members"):
        asyncio.run(read())


ANNOTATIONS = [b'"%b"' % (b"," * 262_142), b"[%b[]]" % (b"[]," * 87_380), b'{"a":"%b"}' % (b"[" * 262_136)]


@pytest.mark.parametrize("text", ANNOTATIONS)
async def test_as_many_bytes_as_annotations_have_are_read_anywhere(text: bytes) -> None:
    """Who reads an annotation may take an unreadable one for a missing one."""
    assert 262_140 <= len(text) <= 256 << 10
    assert read_json(text) == json.loads(text)


@pytest.mark.parametrize(
    "data", [b"[%b0]" % (b"0," * MOST_AT_ONCE), b'["\\ud800%b"]' % (b"x" * SLOWLY), b'["%b\xff"]' % (b"x" * SLOWLY)]
)
async def test_what_is_too_long_for_the_loop_goes_to_a_thread(data: bytes) -> None:
    assert read_object(b'{"a":%b}' % data, 10) is None
    with pytest.raises(TakesLong):
        at_once(read_json, data)
    with pytest.raises(TakesLong):
        at_once(read_object, b'{"a":%b}' % data)
    found = await soon_or_in_thread(partial(read_json, data))
    assert len(found) == data.count(b",") + 1


async def test_a_long_answer_is_read_beside_the_event_loop() -> None:
    def where(_: bytes) -> str:
        return threading.current_thread().name

    here = threading.current_thread().name
    assert await parsed_soon(where, b" " * SLOWLY) == here
    assert await parsed_soon(where, b" " * (SLOWLY + 1)) != here
    assert await read_object_soon(b'{"a":1}') == {"a": 1} and await read_object_soon(b"[]") is None
