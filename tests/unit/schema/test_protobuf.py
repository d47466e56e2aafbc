"""Kubernetes' protobuf encoding is read into the JSON that a client would have sent."""

from __future__ import annotations

import struct
from base64 import b64decode
from collections.abc import Iterable

import pytest

from gateway.jsontypes import JsonObject
from gateway.schema.catalog import type_for
from gateway.schema.protobuf import read_envelope, read_message
from gateway.schema.protobuf_wire import ProtobufError


def message(*fields: tuple[int, int | str | bytes | float]) -> bytes:
    """Encodes fields the plain way: numbers as varints, floats as doubles, the rest with its length."""
    return b"".join(_field(number, value) for number, value in fields)


def _field(number: int, value: int | str | bytes | float) -> bytes:
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value & 0xFFFFFFFFFFFFFFFF)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def read(group: str, version: str, kind: str, fields: Iterable[tuple[int, int | str | bytes | float]]) -> JsonObject:
    return read_message(type_for(group, version, kind), message(*fields))


def test_a_recorded_config_map_is_read() -> None:
    envelope = read_envelope(b64decode("azhzAAoPCgJ2MRIJQ29uZmlnTWFwEhkKBwoFcHJvdG8SBgoBYRIBMhIGCgFiEgEz"))
    assert envelope[:2] == ("v1", "ConfigMap")
    found = read_message(type_for("", "v1", "ConfigMap"), envelope.raw)
    assert found == {"metadata": {"name": "proto"}, "data": {"a": "2", "b": "3"}}


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"{}", r"does not appear to be a protobuf message, expected prefix \[107 56 115 0\]"),
        (b"k8s\0", "empty body"),
        (b"k8s\0\x0a\x0f", "unexpected EOF"),
    ],
)
def test_bytes_that_are_no_envelope_are_refused(data: bytes, problem: str) -> None:
    with pytest.raises(ProtobufError, match=problem):
        read_envelope(data)


def test_wire_types_that_are_none_are_refused() -> None:
    with pytest.raises(ProtobufError, match="proto: illegal wireType 7"):
        read("", "v1", "ConfigMap", [(1, b"\xff\xff\xff\xff\x01")])


def test_fields_of_embedded_structs_are_fields_of_the_object() -> None:
    volume = message((1, "data"), (2, message((2, message((1, "Memory"))))))
    pod = read("", "v1", "Pod", [(2, message((1, volume)))])
    assert pod == {"spec": {"volumes": [{"name": "data", "emptyDir": {"medium": "Memory"}}]}}


def test_quantities_numbers_and_times_become_their_json() -> None:
    limits = message((1, message((1, "cpu"), (2, message((1, "500m"))))))
    container = message((1, "c"), (8, limits))
    spec = message((2, container), (4, 30), (5, -1))
    meta = message((1, "p"), (8, message((1, 1704164645))), (9, b""))
    assert read("", "v1", "Pod", [(1, meta), (2, spec)]) == {
        "metadata": {"name": "p", "creationTimestamp": "2024-01-02T03:04:05Z", "deletionTimestamp": None},
        "spec": {
            "containers": [{"name": "c", "resources": {"limits": {"cpu": "500m"}}}],
            "terminationGracePeriodSeconds": 30,
            "activeDeadlineSeconds": -1,
        },
    }


def test_micro_times_ports_and_bytes_become_their_json() -> None:
    lease = read("coordination.k8s.io", "v1", "Lease", [(2, message((3, message((1, 1704164645), (2, 6000)))))])
    assert lease == {"spec": {"acquireTime": "2024-01-02T03:04:05.000006Z"}}
    port = message((3, 80), (4, message((1, 1), (3, "http"))))
    other = message((3, 81), (4, message((1, 0), (2, 8081))))
    service = read("", "v1", "Service", [(2, message((1, port), (1, other)))])
    assert [each["targetPort"] for each in service["spec"]["ports"]] == ["http", 8081]
    assert read("", "v1", "Secret", [(2, message((1, "k"), (2, b"\0\1")))]) == {"data": {"k": "AAE="}}


def test_lists_in_maps_are_messages_of_their_items() -> None:
    spec = message((5, message((1, "k"), (2, message((1, "v"), (1, "w"))))))
    assert read("authorization.k8s.io", "v1", "SubjectAccessReview", [(2, spec)]) == {
        "spec": {"extra": {"k": ["v", "w"]}}
    }


def test_free_json_is_json_in_a_message() -> None:
    revision = read("apps", "v1", "ControllerRevision", [(2, message((1, b'{"a":[1]}'))), (3, 5)])
    assert revision == {"data": {"a": [1]}, "revision": 5}


def test_schemas_and_what_may_stand_in_their_place() -> None:
    number = message((5, "number"))
    schema = message((24, message((2, number), (2, number))), (30, message((1, 1))), (8, message((1, b'{"a":1}'))))
    version = message((4, message((1, schema))))
    definition = read("apiextensions.k8s.io", "v1", "CustomResourceDefinition", [(2, message((7, version)))])
    assert definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"] == {
        "items": [{"type": "number"}, {"type": "number"}],
        "additionalProperties": True,
        "default": {"a": 1},
    }


def test_unknown_fields_are_skipped() -> None:
    assert read("", "v1", "ConfigMap", [(99, "x"), (98, 1), (97, 1.5)]) == {}


@pytest.mark.parametrize(
    ("seconds", "written"),
    [
        (-62135596800, None),  # Go's zero time, spelt out
        (-62135596799, "0001-01-01T00:00:01Z"),
        (-62167219200, "0000-01-01T00:00:00Z"),
        (253402300799, "9999-12-31T23:59:59Z"),
        (-1, "1969-12-31T23:59:59Z"),
    ],
)
def test_a_time_is_any_that_json_can_hold(seconds: int, written: str | None) -> None:
    found = read("", "v1", "ConfigMap", [(1, message((8, message((1, seconds), (2, 5)))))])
    assert found["metadata"]["creationTimestamp"] == written


@pytest.mark.parametrize("seconds", [-62167219201, 253402300800, (1 << 63) - 1, -(1 << 63)])
def test_a_time_of_no_year_of_four_digits_is_refused(seconds: int) -> None:
    with pytest.raises(ProtobufError, match="out of range"):
        read("", "v1", "ConfigMap", [(1, message((8, message((1, seconds)))))])


@pytest.mark.parametrize(
    ("nanoseconds", "fraction"), [(1999, "07.000001"), (-1000, "06.999999"), (1_500_000_000, "08.500000")]
)
def test_a_micro_time_keeps_its_microseconds(nanoseconds: int, fraction: str) -> None:
    found = read("", "v1", "Event", [(10, message((1, 7), (2, nanoseconds)))])
    assert found["eventTime"] == f"1970-01-01T00:00:{fraction}Z"


def test_numbers_of_a_list_may_come_packed() -> None:
    groups = message((4, varint(1) + varint(300)), (4, 7))
    found = read("", "v1", "Pod", [(2, message((14, groups)))])
    assert found["spec"]["securityContext"]["supplementalGroups"] == [1, 300, 7]


def test_an_int32_is_the_lower_half_of_its_varint() -> None:
    found = read("apps", "v1", "Deployment", [(2, message((1, (1 << 32) + 3)))])
    assert found["spec"]["replicas"] == 3


def test_verbs_are_a_message_of_their_own() -> None:
    resource = message((1, "pods"), (4, message((1, "get"), (1, "list"))))
    found = read("", "v1", "APIResourceList", [(2, resource)])
    assert found["resources"] == [{"name": "pods", "verbs": ["get", "list"]}]


DEFINITION = ("apiextensions.k8s.io", "v1", "CustomResourceDefinition")


def of_schema(number: int, part: bytes) -> bytes:
    """A CustomResourceDefinition whose schema has a member."""
    return message((2, message((7, message((4, message((1, message((number, part))))))))))


MANY = {
    "items of a list": (("", "v1", "Pod"), lambda count: message((1, b"\x6a\x00" * count))),
    "packed numbers": (("", "v1", "Pod"), lambda count: message((2, message((14, message((4, b"\x00" * count))))))),
    "schemas of items": (DEFINITION, lambda count: of_schema(24, b"\x12\x00" * count)),
    "texts of dependencies": (
        DEFINITION,
        lambda count: of_schema(32, message((1, "a"), (2, b"\x12\x00" * count))),
    ),
    "lists in a map": (
        ("authorization.k8s.io", "v1", "SubjectAccessReview"),
        lambda count: message((2, message((5, message((1, "a"), (2, b"\x0a\x00" * count)))))),
    ),
    "entries of several maps": (
        ("", "v1", "Secret"),
        lambda count: b"".join(
            message((number, message((1, f"{key:x}"), (2, ""))))
            for number in (2, 4)
            for key in range(count // 2 + count % 2 * (number == 4))
        ),
    ),
}
ENCLOSING = {"schemas of items": 1, "texts of dependencies": 2, "lists in a map": 1}
"""How many items and entries are around those."""


@pytest.mark.parametrize("what", MANY)
def test_reading_ends_at_the_bound_of_items(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An item of two bytes becomes an object: it is counted before the next one is made."""
    monkeypatch.setattr("gateway.schema.protobuf.MOST_COLLECTIONS", 1000)
    name, made = MANY[what]
    enclosing = ENCLOSING.get(what, 0)
    fits, type_ = made(1000 - enclosing), type_for(*name)
    assert len(repr(read_message(type_, fits))) > 2000
    with pytest.raises(ProtobufError, match="more than 1000 items of lists and maps"):
        read_message(type_, made(1001 - enclosing))
    assert len(repr(read_message(type_, made(5000), trusted=True))) > 10000


@pytest.mark.parametrize("raw", [b"{", b"x", b'{"f:data":{}', b"\xff", b'{"f:a":{}}{}', b""])
def test_managed_fields_that_are_no_json_are_read_as_no_field_set(raw: bytes) -> None:
    fields = bytes([10, len(raw)]) + raw
    entry = b"\x0a\x01m" + bytes([58, len(fields)]) + fields
    meta = bytes([0x8A, 0x01, len(entry)]) + entry
    message, type_ = bytes([10, len(meta)]) + meta, type_for("", "v1", "ConfigMap")
    for trusted, expected in ((False, ""), (True, None)):
        found = read_message(type_, message, trusted=trusted)
        assert [entry.get("fieldsV1") for entry in found["metadata"]["managedFields"]] == [expected]
