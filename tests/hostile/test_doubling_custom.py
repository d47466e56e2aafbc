"""Functions that walk a custom object by its schema, or a binary body, take time in proportion to its size."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from gateway.apply import server_side_apply, update_managed
from gateway.customresources.model import model_of
from gateway.defaults.structural import prune_nulls
from gateway.encodings import cbor, protobuf
from gateway.http.request_info import RequestInfo
from gateway.http.status import StatusError
from gateway.http.user import User
from gateway.jsontypes import JsonObject
from gateway.kinds.attributes import Attributes
from gateway.kinds.builtin import builtin_registry
from gateway.kinds.model import Version
from gateway.kinds.write_context import WriteContext
from gateway.patches import json_patch
from gateway.schema.body import parse_body
from gateway.schema.catalog import type_for
from gateway.schema.decode import DecodeReport, decode
from gateway.schema.protobuf import read_message
from gateway.validation.field import FieldError
from tests.hostile.doubling import Work, is_in_proportion

NOW = "2020-01-01T00:00:00Z"
API_VERSION, KIND = "ex.io/v1", "Thing"
POD = type_for("", "v1", "Pod")
ITEM: JsonObject = {
    "type": "object",
    "required": ["key"],
    "properties": {
        "key": {"type": "string"},
        "word": {"type": "string", "default": "w", "maxLength": 3, "pattern": "^[a-z]*$"},
        "number": {"type": "integer", "maximum": 10},
    },
}
KEYED = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["key"]}
SPEC: JsonObject = {
    "list": {"type": "array", "items": ITEM},
    "keyed": {"type": "array", "items": ITEM, **KEYED},
    "set": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
    "map": {"type": "object", "additionalProperties": ITEM},
    "ruled": {
        "type": "array",
        "maxItems": 10_000,
        "items": {
            "type": "object",
            "properties": {"key": {"type": "string", "maxLength": 20}},
            "x-kubernetes-validations": [{"rule": "self.key != 'x'"}],
        },
    },
    "embedded": {
        "type": "array",
        "items": {
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "x-kubernetes-preserve-unknown-fields": True,
        },
    },
    "either": {
        "type": "array",
        "items": {"type": "integer", "anyOf": [{"minimum": 5}, {"maximum": 3}], "not": {"enum": [7]}},
    },
}
RESOURCE = builtin_registry().resources["", "v1", "configmaps", ""]
SCHEMA = {"type": "object", "properties": {"spec": {"type": "object", "properties": SPEC}}}
ATTRIBUTES = WriteContext(Attributes(User("me"), RequestInfo("update", "/")), RESOURCE)


def version() -> Version:
    """The version of a CRD with SCHEMA."""
    served = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": SCHEMA}}
    names = {"plural": "things", "kind": KIND, "listKind": "ThingList", "singular": "thing"}
    spec = {"group": "ex.io", "scope": "Namespaced", "names": names, "versions": [served]}
    definition = {"spec": spec, "status": {"acceptedNames": names, "storedVersions": ["v1"]}}
    (made,) = model_of(definition, lambda _: None).versions.values()
    return made


VERSION = version()
STRATEGY = VERSION.strategies("")


def thing(**spec: Any) -> JsonObject:
    metadata = {"name": "a", "namespace": "default"}
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": metadata, "spec": spec}


def read(data: bytes) -> JsonObject:
    obj = VERSION.decode(parse_body(data)[0], DecodeReport())
    prune_nulls(VERSION.type, obj)
    VERSION.default(obj)
    return obj


def written(**spec: Any) -> Work:
    """Creates and updates an object: this decodes, prunes, defaults, compares and validates."""
    data = json.dumps(thing(**spec)).encode()
    old = read(data)

    def write() -> list[FieldError]:
        new = read(data)
        new["metadata"]["labels"] = {"a": "b"}
        update_managed(new, old, VERSION.type, manager="m", api_version=API_VERSION, now=NOW)
        return STRATEGY.validate(new, ATTRIBUTES) + STRATEGY.validate_update(new, old, ATTRIBUTES)

    return write


def applied(**spec: Any) -> Work:
    """Applies an object as two field managers; the second takes over the fields of the first."""

    def apply() -> object:
        live = None
        for manager in ("one", "two", "one"):
            live = server_side_apply(
                deepcopy(live),
                thing(**spec),
                VERSION.type,
                manager=manager,
                force=True,
                api_version=API_VERSION,
                kind=KIND,
                now=NOW,
            )
        return live

    return apply


def items(count: int, **more: Any) -> list[JsonObject]:
    return [{"key": f"k{i}", **more} for i in range(count)]


def binary(obj: JsonObject) -> Work:
    """Encodes and decodes a pod in protobuf and in CBOR."""
    pod = decode(POD, obj, DecodeReport())
    message = protobuf.message(POD, pod)
    encoded = cbor.answer(cbor.content(pod, POD))

    def both() -> None:
        assert decode(POD, read_message(POD, message), DecodeReport()) == pod
        assert cbor.decode(encoded) == pod

    return both


def patched(*operations: JsonObject, document: JsonObject) -> Work:
    """Applies a JSON patch, as clients send it and mutating webhooks return it."""

    def patch() -> None:
        try:
            json_patch.apply(document, list(operations), POD)
        except StatusError as error:
            assert error.code == 422

    return patch


CASES: dict[str, Callable[[int], Work]] = {
    "list": lambda n: written(list=items(n)),
    "list of what is wrong": lambda n: written(list=items(n, word="WRONG", number=11)),
    "unknown members of items": lambda n: written(list=items(n, unknown={"a": 1})),
    "unknown members": lambda n: written(**{f"u{i}": 1 for i in range(n)}),
    "nulls": lambda n: written(list=items(n, word=None)),
    "keyed list": lambda n: written(keyed=items(n)),
    "keyed list of one key": lambda n: written(keyed=[{"key": "k"}] * n),
    "set": lambda n: written(set=[str(i) for i in range(n)]),
    "set of one value": lambda n: written(set=["a"] * n),
    "map": lambda n: written(map={f"m{i}": {"key": "k"} for i in range(n)}),
    "items with a rule": lambda n: written(ruled=items(n)),
    "items that break a rule": lambda n: written(ruled=[{"key": "x"}] * n),
    "embedded objects": lambda n: written(
        embedded=[{"apiVersion": "v1", "kind": "A", "metadata": {"name": f"a{i}"}} for i in range(n)]
    ),
    "alternatives": lambda n: written(either=[i % 9 for i in range(n)]),
    "applied list": lambda n: applied(list=items(n)),
    "applied keyed list": lambda n: applied(keyed=items(n)),
    "applied set": lambda n: applied(set=[str(i) for i in range(n)]),
    "applied map": lambda n: applied(map={f"m{i}": {"key": "k"} for i in range(n)}),
    "labels in binary": lambda n: binary({"metadata": {"labels": {f"a{i}": "b" for i in range(n)}}}),
    "containers in binary": lambda n: binary(
        {"metadata": {}, "spec": {"containers": [{"name": f"c{i}", "image": "i"} for i in range(n)]}}
    ),
    "patches that append": lambda n: patched(
        *({"op": "add", "path": "/spec/tolerations/-", "value": {"key": f"k{i}"}} for i in range(n)),
        document={"spec": {"tolerations": []}},
    ),
    "patches that insert first": lambda n: patched(
        *({"op": "add", "path": "/spec/tolerations/0", "value": {"key": f"k{i}"}} for i in range(n)),
        document={"spec": {"tolerations": []}},
    ),
    "patches that remove": lambda n: patched(
        *({"op": "remove", "path": "/spec/tolerations/0"} for _ in range(n)),
        document={"spec": {"tolerations": [{"key": f"k{i}"} for i in range(n)]}},
    ),
    "patches that test": lambda n: patched(
        *({"op": "test", "path": f"/metadata/labels/a{i}", "value": "b"} for i in range(n)),
        document={"metadata": {"labels": {f"a{i}": "b" for i in range(n)}}},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_twice_as_much_takes_about_twice_as_long(case: str) -> None:
    is_in_proportion(CASES[case], 1000)
