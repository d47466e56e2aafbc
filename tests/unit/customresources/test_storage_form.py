"""Custom objects are read from storage without invalid metadata."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.customresources.model import model_of
from gateway.customresources.storage_form import read_stored
from gateway.jsontypes import JsonObject
from gateway.kinds.identity import GroupVersion

EMBEDDED = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
INVALID = {"annotations": {"a": 42, "b": "text"}, "labels": {"invalid": "x y"}, "unknown": 42}
SOUND = {"labels": {"invalid": "x y"}}


def read(obj: JsonObject) -> JsonObject:
    properties = {
        "one": EMBEDDED,
        "listed": {"type": "array", "items": EMBEDDED},
        "named": {"type": "object", "additionalProperties": EMBEDDED},
    }
    schema = {"openAPIV3Schema": {"type": "object", "properties": properties}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    spec = {"group": "e.org", "scope": "Namespaced", "versions": [version]}
    names = {"plural": "things", "kind": "Thing"}
    model = model_of({"metadata": {}, "spec": spec, "status": {"acceptedNames": names}}, lambda _: None)
    return read_stored(
        model.versions[GroupVersion.parse("e.org/v1")], {"apiVersion": "e.org/v1", "kind": "Thing", **obj}
    )


@pytest.mark.parametrize("place", ["root", "one", "listed", "named"])
def test_invalid_metadata_is_dropped_wherever_it_is(place: str) -> None:
    def around(metadata: JsonObject) -> JsonObject:
        part: Any = {"apiVersion": "a/v1", "kind": "Part", "metadata": metadata, "other": [1]}
        return {
            "root": {"metadata": metadata},
            "one": {"metadata": {"name": "x"}, "one": part},
            "listed": {"metadata": {"name": "x"}, "listed": [part]},
            "named": {"metadata": {"name": "x"}, "named": {"n": part}},
        }[place]

    found, wanted = read(around(INVALID)), around(SOUND)
    assert {**found["metadata"], "generation": 1} == {**wanted["metadata"], "generation": 1}
    assert {key: found.get(key) for key in ("one", "listed", "named")} == {
        key: wanted.get(key) for key in ("one", "listed", "named")
    }


def test_an_invalid_kind_of_an_embedded_object_is_dropped() -> None:
    found = read({"metadata": {"name": "x"}, "one": {"apiVersion": 1, "kind": [], "metadata": 2, "other": "o"}})
    assert found["one"] == {"other": "o"}
