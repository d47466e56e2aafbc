"""Custom objects are read from storage as JSON and as CBOR, and without invalid metadata."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.customresources.model import model_of
from gateway.customresources.storage_form import canonicaliser, read_stored
from gateway.encodings.cbor import answer, content
from gateway.jsontypes import MOST_COLLECTIONS, MOST_NAMES, JsonObject, dumps
from gateway.kinds.identity import GroupVersion
from gateway.kinds.model import Model

EMBEDDED = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
INVALID = {"annotations": {"a": 42, "b": "text"}, "labels": {"invalid": "x y"}, "unknown": 42}
SOUND = {"labels": {"invalid": "x y"}}


def things(schema: JsonObject) -> Model:
    """The model of a definition whose only version has the schema."""
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    spec = {"group": "e.org", "scope": "Namespaced", "versions": [version]}
    names = {"plural": "things", "kind": "Thing"}
    return model_of({"metadata": {}, "spec": spec, "status": {"acceptedNames": names}}, lambda _: None)


def read(obj: JsonObject) -> JsonObject:
    properties = {
        "one": EMBEDDED,
        "listed": {"type": "array", "items": EMBEDDED},
        "named": {"type": "object", "additionalProperties": EMBEDDED},
    }
    model = things({"type": "object", "properties": properties})
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


THING: JsonObject = {
    "apiVersion": "e.org/v1",
    "kind": "Thing",
    "metadata": {"name": "x", "uid": "u-1", "labels": {"a": "b"}, "finalizers": ["e.org/f"]},
}
ODD = {"text": "h\u00e9\U0001f600", "whole": 2**53 + 1, "part": 1.5, "none": None, "list": [True, {}, [], ""], "": -1}


@pytest.mark.parametrize(
    "spec",
    [ODD, {"names": {str(at): at for at in range(MOST_NAMES + 1)}}, {"lists": [[]] * MOST_COLLECTIONS}],
    ids=["odd", "many names", "many lists"],
)
def test_cbor_in_etcd_is_read_as_json_is(spec: JsonObject) -> None:
    canonicalise = canonicaliser(things({"type": "object", "x-kubernetes-preserve-unknown-fields": True}))
    thing = {**THING, "spec": spec}
    assert canonicalise(answer(content(thing, None))) == canonicalise(dumps(thing))


@pytest.mark.parametrize("value", [answer(content([1], None)), answer(content(THING, None))[:-1], answer(b"")])
def test_cbor_that_is_no_whole_object_is_refused(value: bytes) -> None:
    with pytest.raises(ValueError, match=r"not a JSON object|EOF"):
        canonicaliser(things({"type": "object"}))(value)
