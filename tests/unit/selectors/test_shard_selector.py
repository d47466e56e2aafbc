"""Shard selectors: their grammar with kube-apiserver's messages, and the hashes that they select."""

from __future__ import annotations

import uuid
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.selectors.fields import UID_FIELD
from gateway.selectors.shard_selector import InvalidShardSelector, fnv1a, parse

LOW, MIDDLE, END = "0x0000000000000000", "0x8000000000000000", "0x10000000000000000"
UID = "object.metadata.uid"


def shard(start: str, end: str, field: str = UID) -> str:
    return f"shardRange({field}, '{start}', '{end}')"


FIRST = shard(LOW, MIDDLE)


@pytest.mark.parametrize(
    ("text", "found"), [("", 0xCBF29CE484222325), ("a", 0xAF63DC4C8601EC8C), ("é", 0xAC21707B7181E01)]
)
def test_the_hash_is_that_of_fnv1a_with_64_bits(text: str, found: int) -> None:
    assert fnv1a(text) == found


# as kube-apiserver answers
REFUSALS = [
    ("x(" + "1," * 5000, "more than 8192 characters, and not only calls of shardRange joined by ||"),
    (" \v", "empty shard selector is not allowed; omit the parameter for unfiltered lists"),
    ("x", "unexpected expression kind 3; expected shardRange() call or || operator"),
    ("1", "unexpected expression kind 5; expected shardRange() call or || operator"),
    ("[1]", "unexpected expression kind 4; expected shardRange() call or || operator"),
    ("{1:1}", "unexpected expression kind 6; expected shardRange() call or || operator"),
    ("a.b", "unexpected expression kind 7; expected shardRange() call or || operator"),
    ("a{b:1}", "unexpected expression kind 8; expected shardRange() call or || operator"),
    ("shardRange()", "shardRange() requires exactly 3 arguments, got 0"),
    (f"{FIRST} && true", 'unsupported function "_&&_"; only shardRange() and || are allowed'),
    ("has(a.b)", 'unsupported function "has"; only shardRange() and || are allowed'),
    ("[1].all(x, true)", 'unsupported function "all"; only shardRange() and || are allowed'),
    ("a.b.c(1) || shardRange()", 'unsupported function "c"; only shardRange() and || are allowed'),
    (f".{FIRST}", 'unsupported function ".shardRange"; only shardRange() and || are allowed'),
    ("shardRange(object.?metadata.uid, '0x', '0x')", "CEL parse error: unsupported syntax '.?'"),
    ("shardRange(object[?0], '0x', '0x')", "CEL parse error: unsupported syntax '[?'"),
    (
        shard(LOW, MIDDLE, "object.metadata.name"),
        'unsupported field path "object.metadata.name"; supported: object.metadata.uid, object.metadata.namespace',
    ),
    (
        shard(LOW, MIDDLE, ".object.metadata.uid"),
        'unsupported field path ".object.metadata.uid"; supported: object.metadata.uid, object.metadata.namespace',
    ),
    (
        shard(LOW, MIDDLE, "object.metadata['uid']"),
        "shardRange() first argument: expected field path (e.g. object.metadata.uid), got expression kind 1",
    ),
    (
        f"{FIRST} || {shard(LOW, MIDDLE, 'object.metadata.namespace')}",
        'all shard ranges must use the same field, got "object.metadata.uid" and "object.metadata.namespace"',
    ),
    (shard(MIDDLE, MIDDLE), f"shard range start {MIDDLE} must be less than end {MIDDLE}"),
    (f"shardRange({UID}, 1, '')", "hexStart must be a string literal, got int64"),
    (f"shardRange({UID}, -1, '')", "hexStart must be a string literal, got int64"),
    (f"shardRange({UID}, 1u, '')", "hexStart must be a string literal, got uint64"),
    (f"shardRange({UID}, 1.0, '')", "hexStart must be a string literal, got float64"),
    (f"shardRange({UID}, true, '')", "hexStart must be a string literal, got bool"),
    (f"shardRange({UID}, null, '')", "hexStart must be a string literal, got structpb.NullValue"),
    (f"shardRange({UID}, b'0x', '')", "hexStart must be a string literal, got []uint8"),
    (f"shardRange({UID}, '{LOW}', [])", "hexEnd must be a string literal (e.g. '0xff'), got expression kind 4"),
    (shard("8000000000000000", MIDDLE), "hexStart must have '0x' prefix, got \"8000000000000000\""),
    (shard("0x", MIDDLE), "hexStart: hex value is required after '0x'"),
    (
        shard("0x0", MIDDLE),
        'hexStart must be a 0x-prefixed 16-digit hex value, got "0x0" (did you mean "0x0000000000000000"?)',
    ),
    (
        shard("0x00000000000000000", MIDDLE),
        f"hexStart: 17-digit hex value must be '{END}' (2^64), got \"0x00000000000000000\"",
    ),
    (shard(LOW, "0x" + "0" * 18), f'hexEnd: hex value too long (18 chars, max 17): "{"0" * 18}"'),
    (shard(LOW, "0xF" + "0" * 15), f'hexEnd: invalid hex character "F" in "0xF{"0" * 15}"'),
]


@pytest.mark.parametrize(("text", "message"), REFUSALS, ids=[text[:60] for text, _ in REFUSALS])
def test_a_wrong_selector_is_refused_with_the_words_of_kube_apiserver(text: str, message: str) -> None:
    with pytest.raises(InvalidShardSelector) as refused:
        parse(text)
    assert str(refused.value) == f"invalid shard selector: {message}"


@pytest.mark.parametrize(
    "text",
    [
        f"((({FIRST})))",
        f"shardRange({UID}, \"{LOW}\", r'{MIDDLE}') // the first half",
        f"object.{FIRST}",
        f"\n{FIRST}\u2003",
    ],
)
def test_spellings_of_one_selector_have_one_form(text: str) -> None:
    assert str(parse(text)) == FIRST


@given(st.lists(st.integers(1, 2**64 - 1), unique=True, max_size=8), st.uuids())
def test_shards_that_divide_the_hashes_have_each_object_once(cuts: list[int], uid: uuid.UUID) -> None:
    bounds = [LOW, *(f"0x{cut:016x}" for cut in sorted(cuts)), END]
    ranges = list(pairwise(bounds))
    fields = {UID_FIELD: str(uid)}
    holding = [(start, end) for start, end in ranges if parse(shard(start, end)).matches(fields)]
    assert [int(start, 16) <= fnv1a(str(uid)) < int(end, 16) for start, end in holding] == [True]
    every = parse(" || ".join(shard(start, end) for start, end in reversed(ranges)))
    assert every.matches(fields)


def test_a_long_selector_may_have_many_ranges() -> None:
    text = " || ".join(shard(f"0x{number:016x}", f"0x{number + 1:016x}") for number in range(1000))
    assert str(parse(text)) == text


def test_a_selector_of_namespaces_has_all_objects_of_a_namespace_or_none() -> None:
    found = fnv1a("team-a")
    selector = parse(shard(f"0x{found:016x}", f"0x{found + 1:016x}", "object.metadata.namespace"))
    assert selector.matches({"metadata.namespace": "team-a", UID_FIELD: "x"})
    assert not selector.matches({"metadata.namespace": "team-b", UID_FIELD: "x"})
