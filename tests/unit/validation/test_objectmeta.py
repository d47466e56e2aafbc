"""Object metadata: the order and wording of the errors of creates and updates."""

from gateway.jsontypes import JsonObject
from gateway.validation.field import FieldError
from gateway.validation.objectmeta import validate_object_meta, validate_object_meta_update

META: JsonObject = {"name": "a", "namespace": "default", "resourceVersion": "1", "uid": "u"}


def texts(errors: list[FieldError]) -> list[str]:
    return [str(error) for error in errors]


def test_valid_metadata() -> None:
    labels = {"app": "web", "example.com/a": ""}
    assert validate_object_meta({**META, "labels": labels, "finalizers": ["example.com/f", "orphan"]}, True) == []


def test_a_name_is_required() -> None:
    assert texts(validate_object_meta({"namespace": "default"}, True)) == [
        "metadata.name: Required value: name or generateName is required"
    ]


def test_scope_decides_about_the_namespace() -> None:
    assert texts(validate_object_meta({"name": "a"}, True)) == ["metadata.namespace: Required value"]
    assert texts(validate_object_meta(META, False)) == ["metadata.namespace: Forbidden: not allowed on this type"]


def test_annotation_keys_are_checked_in_lower_case_and_sizes_are_limited() -> None:
    assert validate_object_meta({**META, "annotations": {"Example.COM/a": "x"}}, True) == []
    big = {"a": "x" * (256 * 1024)}
    assert texts(validate_object_meta({**META, "annotations": big}, True)) == [
        "metadata.annotations: Too long: may not be more than 262144 bytes"
    ]


def test_owner_references() -> None:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "a", "uid": "1", "controller": True}
    assert validate_object_meta({**META, "ownerReferences": [owner]}, True) == []
    fields = [e.field for e in validate_object_meta({**META, "ownerReferences": [{"apiVersion": "a/"}]}, True)]
    assert fields == [f"metadata.ownerReferences.{key}" for key in ("apiVersion", "kind", "name", "uid")]
    two = validate_object_meta({**META, "ownerReferences": [owner, {**owner, "name": "b"}]}, True)
    text = 'Found "true" in references for ReplicaSet/a and ReplicaSet/b'
    assert [error.body.endswith(text) for error in two] == [True]


def test_unqualified_finalizers_have_to_be_known() -> None:
    assert texts(validate_object_meta({**META, "finalizers": ["mine"]}, True)) == [
        'metadata.finalizers[0]: Invalid value: "mine": name is neither a standard finalizer name nor is it fully '
        "qualified"
    ]
    assert validate_object_meta({**META, "finalizers": ["mine"]}, True, standard_finalizers=False) == []


def test_updates_report_immutable_fields_twice_for_built_in_kinds() -> None:
    new = {**META, "uid": "other"}
    expected = ['metadata.uid: Invalid value: "other": field is immutable']
    assert texts(validate_object_meta_update(new, META)) == expected * 2
    assert texts(validate_object_meta_update(new, META, built_in=False)) == expected


def test_no_finalizers_are_added_to_an_object_that_is_being_deleted() -> None:
    old = {**META, "deletionTimestamp": "2024-01-01T00:00:00Z"}
    errors = validate_object_meta_update({**old, "finalizers": ["a.b/c"]}, old, built_in=False)
    assert texts(errors) == [
        "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new "
        'finalizers []string{"a.b/c"}'
    ]
