"""CBOR has the same values as JSON, in Kubernetes' deterministic form. Values without a JSON form are refused."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.encodings.cbor import CborError, answer, content, decode, list_head, watch_event
from gateway.jsontypes import MOST_COLLECTIONS
from gateway.schema.catalog import type_for
from tests.samples import kinds, samples

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(1 << 63), (1 << 63) - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=30),
)


@given(VALUES)
def test_any_value_comes_back(value: Any) -> None:
    assert decode(answer(content(value, None))) == value


@pytest.mark.parametrize("gvk", kinds(), ids="/".join)
def test_any_kind_comes_back(gvk: tuple[str, str, str]) -> None:
    for _, obj in samples(*gvk):
        assert decode(answer(content(obj, type_for(*gvk)))) == obj


def test_a_secret_is_written_as_kubernetes_does() -> None:
    secret = {"kind": "Secret", "apiVersion": "v1", "type": "Opaque", "data": {"k": "AAE="}}
    # strings as byte strings (0x40); bytes tagged for later base64 (0xd6)
    assert answer(content(secret, type_for("", "v1", "Secret"))).hex() == (
        "d9d9f7a4" + "446b696e64" + "46536563726574" + "4a61706956657273696f6e" + "427631"
        "4474797065" + "464f7061717565" + "4464617461" + "a1416b" + "d6420001"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("number", "written"), [(1.5, "f93e00"), (100000.5, "fa47c35040"), (0.1, "fb3fb999999999999a")]
)
def test_a_float_takes_the_shortest_form_that_keeps_it(number: float, written: str) -> None:
    assert content(number, None).hex() == written


@pytest.mark.parametrize("size", [0, 1, 23, 24, 255, 256, 70000])
def test_a_list_is_its_items_joined(size: int) -> None:
    item = content({"a": 1}, None)
    made = list_head("v1", "ThingList", {"resourceVersion": "7"}, size) + item * size
    expected = {
        "kind": "ThingList",
        "apiVersion": "v1",
        "metadata": {"resourceVersion": "7"},
        "items": [{"a": 1}] * size,
    }
    assert decode(made) == expected


def test_a_watch_event_wraps_an_answer() -> None:
    assert decode(watch_event("ADDED", answer(content({"a": "é"}, None)))) == {"type": "ADDED", "object": {"a": "é"}}


@pytest.mark.parametrize(
    ("data", "value"),
    [
        ("6161", "a"),  # a text string
        ("5f41614162ff", "ab"),  # of indefinite length
        ("bf6161f5ff", {"a": True}),
        ("d6420001", "AAE="),
        ("d542fbff", "-_8"),
        ("d742fbff", "fbff"),
        ("c074323031332d30332d32315432303a30343a30305a", "2013-03-21T20:04:00Z"),
        ("c11a514b67b0", "2013-03-21T20:04:00Z"),
        ("d81c8101", [1]),  # a tag that means nothing here
        ("3b7fffffffffffffff", -(1 << 63)),
    ],
)
def test_what_others_write_is_read(data: str, value: Any) -> None:
    assert decode(bytes.fromhex(data)) == value


@pytest.mark.parametrize(
    "data",
    [
        "",
        "81",  # cut off
        "0101",  # more than one item
        "a2416101416102",  # a key twice
        "a2416101616102",  # a key twice, once as text
        "a10102",  # a key that is not a string
        "f97e00",  # NaN
        "f97c00",  # infinity
        "f7",  # undefined
        "e0",  # a simple value
        "1bffffffffffffffff",  # beyond 64 bits
        "c249010000000000000000",
        "61ff",  # no UTF-8
        "c1fb7e37e43c8800759c",  # a time beyond all years
        "81" * 300 + "00",  # too deep
    ],
)
def test_what_is_no_json_is_refused(data: str) -> None:
    with pytest.raises(CborError):
        decode(bytes.fromhex(data))


@given(st.binary())
def test_any_bytes_give_json_or_an_error(data: bytes) -> None:
    with suppress(CborError):
        content(decode(data), None)


def test_an_object_nested_too_deeply_is_refused() -> None:
    value: Any = 1
    for _ in range(5000):
        value = [value]
    with pytest.raises(CborError):
        content(value, None)


def counted(count: int, item: bytes) -> bytes:
    """A list of so many items."""
    return b"\x9a" + count.to_bytes(4, "big") + item * count


@pytest.mark.parametrize("item", [b"\xa0", b"\x80", b"\x9f\xff", b"\xbf\xff"])
def test_more_maps_and_lists_than_are_made_are_refused_before_they_are_made(item: bytes) -> None:
    assert len(decode(counted(MOST_COLLECTIONS - 1, item))) == MOST_COLLECTIONS - 1
    with pytest.raises(CborError, match=f"more than {MOST_COLLECTIONS} maps and lists; send fewer"):
        decode(counted(MOST_COLLECTIONS, item))


@pytest.mark.parametrize(
    "value",
    [
        "\u4e2d" * MOST_COLLECTIONS,
        ["\u4e2d" * MOST_COLLECTIONS, ["a", {"\u4e2d": "\u00e9" * 200}]],
        {"a": "\u4e2d" * MOST_COLLECTIONS, "b": [128, 160, 0xA0A0, 0x80808080, 0x8080808080808080 - (1 << 62), 1.5]},
    ],
)
def test_bytes_of_texts_and_numbers_are_no_maps(value: Any) -> None:
    assert decode(answer(content(value, None))) == value


def test_pieces_of_a_text_without_a_length_are_passed_over() -> None:
    pieces = b"\x5f" + (b"\x59\xff\xf0" + b"\xa0" * 0xFFF0) * 8 + b"\xff"
    assert set(decode(pieces)) == {"\ufffd"}
