"""Custom objects after webhooks: which changes are kept, and which metadata cannot be read."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.admission.custom_objects import set_defaults
from gateway.customresources.model import model_of
from gateway.http.status import StatusError
from gateway.kinds.identity import GroupVersion
from gateway.kinds.model import Version

FIELDS = {"size": {"type": "integer", "default": 1}, "name": {"type": "string"}}


def version() -> Version:
    names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": FIELDS}}}
    served = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    definition = {
        "metadata": {"name": "things.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [served]},
        "status": {"acceptedNames": names, "conditions": [], "storedVersions": ["v1"]},
    }
    return model_of(definition, lambda _: None).versions[GroupVersion("example.com", "v1")]


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ({"name": "a", "labels": {"b": "c"}}, {"name": "a", "labels": {"b": "c"}}),
        ({"name": "a", "labels": {"b": 7}}, {"name": "a"}),
        ({"name": "a", "labels": {"b": None}}, {"name": "a", "labels": {"b": ""}}),
        ({"name": 5, "generateName": "g-"}, {"generateName": "g-"}),
        (
            {"name": "a", "ownerReferences": [{"uid": 5, "name": "o", "controller": 1, "blockOwnerDeletion": True}]},
            {
                "name": "a",
                "ownerReferences": [{"apiVersion": "", "kind": "", "name": "o", "uid": "", "blockOwnerDeletion": True}],
            },
        ),
        ({"name": "a", "ownerReferences": ["x"]}, {"name": "a"}),
        ({"name": "a", "finalizers": "x", "managedFields": "y", "deletionTimestamp": "z"}, {"name": "a"}),
    ],
)
def test_members_of_metadata_that_cannot_be_read_are_as_if_they_were_not_there(given: Any, read: Any) -> None:
    assert set_defaults({"metadata": given}, version(), new=True)["metadata"] == read


def test_nulls_stay_unless_there_is_a_default() -> None:
    assert set_defaults({"metadata": {}, "spec": {"size": None, "name": None}}, version(), new=True)["spec"] == {
        "size": 1,
        "name": None,
    }


@pytest.mark.parametrize("metadata", [None, "x", []])
def test_metadata_of_a_new_object_is_an_object(metadata: Any) -> None:
    with pytest.raises(StatusError, match="system metadata was not initialized"):
        set_defaults({"metadata": metadata}, version(), new=True)
    assert set_defaults({"metadata": metadata}, version(), new=False)["metadata"] == {}


def test_missing_metadata_is_for_validation_to_refuse() -> None:
    assert set_defaults({}, version(), new=True)["metadata"] == {}
