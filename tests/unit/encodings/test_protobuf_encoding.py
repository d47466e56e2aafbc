"""Objects in protobuf are byte for byte those of Go's marshallers, and can be decoded without loss."""

from __future__ import annotations

import gzip
import hashlib
from base64 import b64decode
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.encodings.protobuf import (
    ProtobufEncodeError,
    answer,
    list_answer,
    list_item,
    message,
    watch_event,
)
from gateway.encodings.protobuf_memory import SharedMessages
from gateway.jsontypes import JsonObject, loads
from gateway.release.minors import CATALOGS, CATALOGUED
from gateway.schema.catalog import META, serving, type_for, type_of
from gateway.schema.decode import DecodeReport, decode
from gateway.schema.protobuf import read_envelope, read_message
from gateway.schema.types import Type, TypeKind
from tests.samples import has_numbers, kinds, samples

MINORS = (CATALOGUED, *CATALOGS)
RECORDINGS: list[JsonObject] = loads(gzip.decompress(Path(__file__).with_name("recordings.json.gz").read_bytes()))
RECORDED = "1.36"  # the minor of the recordings


def kinds_of(minor: str) -> list[tuple[str, tuple[str, str, str]]]:
    with serving(minor):
        return [(minor, gvk) for gvk in kinds()]


KINDS = [pytest.param(*each, id="/".join((each[0], *each[1]))) for minor in MINORS for each in kinds_of(minor)]


def encoded(group: str, version: str, kind: str, obj: JsonObject) -> bytes:
    api_version = f"{group}/{version}" if group else version
    return answer(api_version, kind, message(type_for(group, version, kind), obj))


def read_back(type_: Type, data: bytes) -> JsonObject:
    return decode(type_, read_message(type_, data), DecodeReport())


@pytest.mark.parametrize("recorded", [each for each in RECORDINGS if "json" in each], ids=lambda each: each["path"])
def test_an_answer_is_what_a_kube_apiserver_answered(recorded: JsonObject) -> None:
    obj: JsonObject = recorded["json"]
    api_version = obj.get("apiVersion", "")
    with serving(RECORDED):
        made = answer(api_version, obj["kind"], message(_type_of(api_version or "v1", obj["kind"]), obj))
    assert made.hex() == b64decode(recorded["protobuf"]).hex()


@pytest.mark.parametrize("recorded", [each for each in RECORDINGS if "json" in each], ids=lambda each: each["path"])
def test_what_a_kube_apiserver_answered_is_read(recorded: JsonObject) -> None:
    obj: JsonObject = recorded["json"]
    envelope = read_envelope(b64decode(recorded["protobuf"]))
    assert (envelope.api_version, envelope.kind) == (obj.get("apiVersion", ""), obj["kind"])
    type_ = _type_of(obj.get("apiVersion", "v1"), obj["kind"])
    expected = decode(type_, {key: obj[key] for key in obj if key not in ("kind", "apiVersion")}, DecodeReport())
    assert without_kinds(read_back(type_, envelope.raw)) == without_kinds(expected)


@pytest.mark.parametrize("recorded", [each for each in RECORDINGS if "frames" in each], ids=lambda each: each["path"])
def test_a_watch_is_what_a_kube_apiserver_sent(recorded: JsonObject) -> None:
    frames = []
    for event in recorded["events"]:
        obj = event["object"]
        content = message(_type_of(obj["apiVersion"], obj["kind"]), obj)
        frames.append(watch_event(event["type"], answer(obj["apiVersion"], obj["kind"], content)))
    assert len(frames) > 1
    assert b"".join(frames).hex() == b64decode(recorded["frames"]).hex()


def _type_of(api_version: str, kind: str) -> Type:
    group, _, version = api_version.rpartition("/")
    return type_of(META + kind) if group == "meta.k8s.io" else type_for(group, version, kind)


def without_kinds(value: Any) -> Any:
    """Without the kinds of claim templates and of list items: protobuf has a kind only around the whole."""
    if isinstance(value, dict):
        named = {"kind", "apiVersion"} if "metadata" in value else set()
        return {key: without_kinds(item) for key, item in value.items() if key not in named}
    return [without_kinds(item) for item in value] if isinstance(value, list) else value


@cache
def digests(minor: str) -> Any:
    own = "" if minor == CATALOGUED else f"-{minor}"
    return loads(Path(__file__).with_name(f"protobuf_digests{own}.json").read_bytes())


@pytest.mark.parametrize(("minor", "gvk"), KINDS)
def test_a_kind_is_written_as_go_writes_it(minor: str, gvk: tuple[str, str, str]) -> None:
    with serving(minor):
        made = {name: hashlib.sha256(encoded(*gvk, obj)).hexdigest()[:16] for name, obj in samples(*gvk)}
    assert made == digests(minor)["/".join(gvk).lstrip("/")]


@pytest.mark.parametrize(("minor", "gvk"), KINDS)
def test_nothing_of_a_kind_is_lost(minor: str, gvk: tuple[str, str, str]) -> None:
    with serving(minor):
        for _, obj in samples(*gvk):
            envelope = read_envelope(encoded(*gvk, obj))
            named = {"kind": envelope.kind, "apiVersion": envelope.api_version}
            assert named | read_back(type_for(*gvk), envelope.raw) == obj


def value_of(type_: Type, random: Random, depth: int = 6) -> Any:
    """Some canonical value of a type."""
    match type_.kind:
        case TypeKind.STRUCT:
            fields = [each for each in type_.fields.values() if each.embedded[-1:] != ("TypeMeta",)]
            chosen = [each for each in fields if random.random() < depth / 10]
            return {each.name: value_of(each.type, random, depth - 1) for each in chosen}
        case TypeKind.LIST if type_.elem is not None:
            return [value_of(type_.elem, random, depth) for _ in range(random.randrange(3))]
        case TypeKind.MAP if type_.elem is not None:
            return {text(random): value_of(type_.elem, random, depth) for _ in range(random.randrange(3))}
        case TypeKind.ANY if type_.elem is not None:
            return random.random() < 0.5 if type_.name.endswith("OrBool") else ["a"]
        case kind:
            return SCALARS[kind](random)


def text(random: Random) -> str:
    return "".join(random.choices("ab/.\0\x7f\xe9\ud7ff\U0001f600", k=random.choice((0, 1, 3, 40, 200))))


def time(random: Random) -> str:
    seconds = random.choice((0, 1, -62135596799, 253402300799, random.randrange(-62135596799, 253402300799)))
    moment = datetime(1970, 1, 1) + timedelta(seconds=seconds)
    return f"{moment.year:04d}-{moment:%m-%dT%H:%M:%S}"


def integer(random: Random, bits: int) -> int:
    return random.choice((0, 1, -1, 127, 128, 20_000, -(1 << bits), (1 << bits) - 1, random.randrange(1 << bits)))


SCALARS: dict[TypeKind, Callable[[Random], Any]] = {
    TypeKind.STRING: text,
    TypeKind.INT32: lambda random: integer(random, 31),
    TypeKind.INT64: lambda random: integer(random, 63),
    TypeKind.FLOAT: lambda random: random.choice((0, 0.5, -1, 1e300, random.random())),
    TypeKind.BOOL: lambda random: random.random() < 0.5,
    TypeKind.BYTES: lambda random: random.choice(("", "AA==", "aGVsbG8=")),
    TypeKind.QUANTITY: lambda random: random.choice(("0", "1", "100m", "-1500", "64Mi", "1e3", "3n")),
    TypeKind.TIME: lambda random: time(random) + "Z",
    TypeKind.MICROTIME: lambda random: f"{time(random)}.{random.randrange(1_000_000):06d}Z",
    TypeKind.INT_OR_STRING: lambda random: random.choice((integer(random, 31), text(random))),
    TypeKind.ANY: lambda random: {text(random): random.choice((None, 5, "x", {"y": [True]})) for _ in range(3)},
}


@given(st.sampled_from(kinds()), st.integers(0, 1 << 32))
def test_any_object_comes_back(gvk: tuple[str, str, str], seed: int) -> None:
    type_ = type_for(*gvk)
    canonical = decode(type_, value_of(type_, Random(seed)), DecodeReport())
    once = read_back(type_, message(type_, canonical))
    assert message(type_, once) == message(type_, canonical)
    assert without_what_protobuf_drops(once) == without_what_protobuf_drops(canonical)


def without_what_protobuf_drops(value: Any) -> Any:
    """Empty lists and maps, and absent values: protobuf does not tell them apart."""
    if isinstance(value, dict):
        kept = {key: without_what_protobuf_drops(item) for key, item in value.items()}
        return {key: item for key, item in kept.items() if item not in (None, [], {})}
    return [without_what_protobuf_drops(item) for item in value] if isinstance(value, list) else value


def test_a_list_is_its_items_joined() -> None:
    type_ = type_for("", "v1", "ConfigMap")
    configs: list[JsonObject] = [{"metadata": {"name": name}, "data": {"a": "1"}} for name in ("one", "two")]
    items = [list_item(message(type_, each)) for each in configs]
    metadata = {"resourceVersion": "7", "continue": "abc", "remainingItemCount": 3}
    made = b"".join(list_answer("v1", "ConfigMapList", metadata, items))
    whole = {"metadata": metadata, "items": configs}
    assert made == encoded("", "v1", "ConfigMapList", whole)


def test_lists_have_their_metadata_at_1_and_their_items_at_2() -> None:
    for gvk in kinds():
        fields = type_for(*gvk).fields
        if gvk[2].endswith("List") and "items" in fields:
            assert (fields["metadata"].number, fields["items"].number) == (1, 2), gvk


def test_a_watch_event_is_a_frame_around_an_answer() -> None:
    frame = watch_event("ADDED", b"k8s\0...")
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    # WatchEvent{type: 1, object: 2 -> RawExtension{raw: 1}}
    assert frame[4:] == b"\x0a\x05ADDED\x12\x09\x0a\x07k8s\0..."


def test_metadata_alone_is_written_by_its_own_type() -> None:
    type_ = type_of(META + "PartialObjectMetadata")
    partial = {"metadata": {"name": "one", "labels": {"b": "2", "a": "1"}}}
    assert read_back(type_, message(type_, partial)) == decode(type_, partial, DecodeReport())


def test_values_that_came_before_do_not_show_in_what_is_written() -> None:
    """Fields are remembered by value; more of them than are remembered must come out as they went in."""
    type_ = type_for("", "v1", "ConfigMap")
    for n in range(3000):
        obj = {"metadata": {"name": f"n{n}", "labels": {"l": str(n)}}, "data": {"a": str(n)}, "immutable": bool(n % 2)}
        assert read_back(type_, message(type_, obj)) == decode(type_, obj, DecodeReport())


def test_what_is_remembered_of_structs_is_bounded_and_given_up_where_it_is_of_no_use() -> None:
    written: list[str] = []

    def encode(item: JsonObject) -> bytes:
        written.append(item["name"])
        return item["name"].encode()

    shared = SharedMessages(encode)
    assert [shared({"name": "a"}) for _ in range(9)] == [b"a"] * 9
    assert written == ["a"]
    for n in range(2000):  # none of them comes again
        assert shared({"name": str(n)}) == str(n).encode()
    assert len(shared._known) <= 257
    assert shared({"name": "a"}) == b"a"


def test_an_object_nested_too_deeply_is_refused() -> None:
    schema: JsonObject = {}
    for _ in range(2000):
        schema = {"not": schema}
    with pytest.raises(ProtobufEncodeError):
        message(type_of("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"), schema)


def test_only_tables_and_their_parts_have_no_protobuf_form() -> None:
    unwritten = {name for name in _struct_types() if not has_numbers(type_of(name))}
    assert unwritten == {META + name for name in ("Table", "TableColumnDefinition", "TableRow", "TableRowCondition")}


def _struct_types() -> Iterator[str]:
    from gateway.schema.catalog import document

    return (name for name in document()["types"] if type_of(name).kind is TypeKind.STRUCT)
