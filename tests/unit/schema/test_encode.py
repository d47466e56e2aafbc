"""Stored values and answers: kind, apiVersion and metadata come first, and metadata in order, whatever the kind."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.kinds.builtin import builtin_registry
from gateway.schema.encode import encode_answer, encode_stored
from gateway.schema.types import Field, Omit, Type, TypeKind
from storage.entry import entry_of, with_version

ANY = Type(TypeKind.ANY, "interface {}", structural=True)
STRUCTURAL = Type(
    TypeKind.STRUCT, "v1.W", structural=True, fields={"spec": Field("spec", "Spec", ANY, Omit.NIL)}, elem=ANY
)
TRAP = "trap"
METADATA = {
    "zone": {"uid": TRAP},  # unknown to metadata
    "annotations": {"uid": TRAP},
    "labels": {"uid": TRAP},
    "ownerReferences": [{"uid": TRAP}],
    "managedFields": [{"fieldsV1": {"uid": TRAP}}],
    "uid": "the-uid",
    "namespace": 'uid":"',
    "generateName": '"uid":"trap',
    "name": '","uid":"trap',
}
STORED = list(builtin_registry().stored())


def check(stored: bytes, metadata: dict[str, Any]) -> None:
    shown = json.loads(with_version(stored, 7))["metadata"]
    assert shown == metadata | {"resourceVersion": "7"}
    entry = entry_of(b"/registry/x", stored, 7, stored[: stored.index(b'"metadata"')])
    assert json.loads(b"{" + entry.tail)["metadata"] == shown
    names = list(shown)
    assert names[names.index("uid") + 1] == "resourceVersion"


@pytest.mark.parametrize("resource", STORED, ids=lambda each: str(each.qualified))
def test_no_member_called_uid_is_taken_for_the_objects(resource: Any) -> None:
    obj = {"uid": TRAP, "spec": {"uid": TRAP}, "metadata": METADATA}
    check(encode_stored(obj, resource.kind, resource.storage_version), METADATA)


@pytest.mark.parametrize("type_", [None, STRUCTURAL, ANY], ids=["unknown", "structural", "any"])
def test_nor_in_kinds_that_are_not_built_in(type_: Type | None) -> None:
    obj = {"a": {"uid": TRAP}, "uid": TRAP, "spec": {"uid": TRAP}, "metadata": METADATA}
    check(encode_stored(obj, "W", "e.com/v1", type_), METADATA)


@given(
    st.dictionaries(
        st.sampled_from(["labels", "annotations", "zone", "name", "uid", "generation"]),
        st.one_of(st.text(), st.dictionaries(st.sampled_from(["uid", "a"]), st.text(max_size=4))),
    ),
    st.sampled_from([None, STRUCTURAL, ANY]),
)
def test_whatever_metadata_holds(metadata: dict[str, Any], type_: Type | None) -> None:
    metadata["uid"] = "the-uid"
    for name in ("name", "generateName", "namespace"):
        if name in metadata:
            metadata[name] = str(metadata[name])
    check(encode_stored({"metadata": metadata}, "W", "e.com/v1", type_), metadata)


def test_custom_objects_have_their_members_sorted_as_go_maps_are() -> None:
    obj = {"spec": {"b": [{"d": 1, "c": 2}], "a": 1}, "other": {"z": 1, "y": 2}, "metadata": {"uid": "u", "name": "w"}}
    assert encode_answer(obj, "W", "e.com/v1", STRUCTURAL) == (
        b'{"kind":"W","apiVersion":"e.com/v1","metadata":{"name":"w","uid":"u"},'
        b'"other":{"y":2,"z":1},"spec":{"a":1,"b":[{"c":2,"d":1}]}}\n'
    )
