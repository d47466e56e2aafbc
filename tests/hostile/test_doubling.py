"""Functions that walk a body take time in proportion to it: twice the length takes about twice as long.

CPU time is measured, the best of several rounds. Quadratic work would take four times as long.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from gateway.apply.field_set import from_wire
from gateway.apply.managed_fields import update_managed
from gateway.cel.rules import compile_schema
from gateway.customresources.keyed_lists import compile_lists
from gateway.defaults import apply_defaults
from gateway.http.request_info import RequestInfo
from gateway.http.status import invalid
from gateway.http.user import User
from gateway.http.warnings import Warnings
from gateway.jsontypes import JsonObject
from gateway.kinds.attributes import Attributes
from gateway.kinds.builtin import builtin_registry
from gateway.kinds.metadata import drop_duplicate_owners
from gateway.kinds.strategies import strategy_for
from gateway.kinds.write_context import WriteContext
from gateway.patches import json_patch, strategic_merge_patch
from gateway.schema.body import parse_body
from gateway.schema.catalog import type_for
from gateway.schema.decode import DecodeError, DecodeReport, decode
from gateway.schema.yaml_body import YamlError, parse_yaml
from gateway.selectors import labels
from gateway.validation.field import FieldError
from gateway.validation.objectmeta import validate_object_meta
from gateway.validation.schema_values import compile_values
from tests.hostile.doubling import is_in_proportion

CONFIG_MAP, POD = type_for("", "v1", "ConfigMap"), type_for("", "v1", "Pod")
CONTAINER = {"name": "c", "image": "i"}
PODS = strategy_for("", "pods")
CREATED = WriteContext(
    Attributes(User("me"), RequestInfo("create", "")),
    builtin_registry().resources["", "v1", "pods", ""],
    "default",
    "p",
    now="2020-01-01T00:00:00Z",
)


def body(value: Any) -> Callable[[], object]:
    data = json.dumps(value).encode()

    def read() -> None:
        parsed, _ = parse_body(data)
        decode(POD, parsed, DecodeReport())

    return read


def with_metadata(**metadata: Any) -> Callable[[], object]:
    obj: JsonObject = {"metadata": {"name": "a", "namespace": "default", **metadata}}

    def write() -> list[FieldError]:
        meta = dict(obj["metadata"])
        drop_duplicate_owners(meta)
        new = {**obj, "metadata": meta}
        update_managed(new, None, CONFIG_MAP, manager="m", api_version="v1", now="2020-01-01T00:00:00Z")
        found = validate_object_meta(meta, True)
        invalid("", "ConfigMap", "a", found).body()
        return found

    return write


def strategic(document: Any, patch: Any) -> Callable[[], object]:
    return lambda: strategic_merge_patch.apply(document, patch, CONFIG_MAP)


def owners(size: int, **more: Any) -> list[JsonObject]:
    return [{"apiVersion": "v1", "kind": "Pod", "name": f"p{i}", "uid": f"u{i}", **more} for i in range(size)]


def read_yaml(text: str) -> Callable[[], object]:
    def read() -> None:
        try:
            parse_yaml(text.encode())
        except YamlError as error:
            assert "aliasing" in str(error)

    return read


def wrong(text: str) -> Callable[[], object]:
    def read() -> None:
        value, _ = parse_body(text.encode())
        try:
            decode(CONFIG_MAP, value, DecodeReport())
        except DecodeError:
            return

    return read


def patched(operations: list[JsonObject], document: JsonObject) -> Callable[[], object]:
    return lambda: json_patch.apply(document, operations, CONFIG_MAP)


def with_a_long_key(size: int) -> Callable[[], object]:
    """An object of a CRD whose map has one long key with many values below it."""
    items: JsonObject = {"type": "array", "x-kubernetes-list-type": "set", "maxItems": 9, "items": {"type": "string"}}
    items["x-kubernetes-validations"] = [{"rule": "self.size() < 3"}]
    lists: JsonObject = {"type": "array", "items": items}
    schema: JsonObject = {"type": "object", "properties": {"a": {"type": "object", "additionalProperties": lists}}}
    values, found_twice, rules = compile_values(schema), compile_lists(schema), compile_schema(schema)
    obj = {"a": {"k" * 100 * size: [["b"]] * size}}
    assert found_twice is not None and rules is not None
    return lambda: (values(obj, "", None), found_twice(obj, ""), rules.validate(obj))


def pod(**spec: Any) -> Callable[[], object]:
    """Validates a pod, which must be valid, and makes its warnings."""
    obj: JsonObject = {"metadata": {"name": "p", "namespace": "default"}, "spec": {"containers": [CONTAINER], **spec}}
    apply_defaults("v1", "Pod", obj)
    assert PODS.warnings_on_create is not None
    warnings_on_create = PODS.warnings_on_create

    def write() -> None:
        assert PODS.validate(obj, CREATED) == []
        Warnings().extend(warnings_on_create(obj, CREATED))

    return write


def projected(size: int) -> JsonObject:
    """A volume of `size` secrets, each with a path of its own."""
    items = ([{"key": "k", "path": f"p{i}"}] for i in range(size))
    return {"name": "v", "projected": {"sources": [{"secret": {"name": "s", "items": each}} for each in items]}}


def claimed(size: int) -> JsonObject:
    """The specification of a pod of `size` claims, each of which its container uses."""
    claims = [{"name": f"c{i}"} for i in range(size)]
    spec = {"resourceClaims": [{**each, "resourceClaimName": "x"} for each in claims]}
    return {**spec, "containers": [{**CONTAINER, "resources": {"claims": claims}}]}


CASES: dict[str, Callable[[int], Callable[[], object]]] = {
    "containers": lambda n: body(
        {"spec": {"containers": [{"name": f"c{i}", "image": "i" * 64} for i in range(n // 2)]}}
    ),
    "repeated keys": lambda n: wrong('{"data":{' + ",".join(['"a":"b"'] * n) + "}}"),
    "unknown keys": lambda n: wrong("{" + ",".join(f'"k{i}":1' for i in range(n)) + "}"),
    "repeated keys below a long one": lambda n: wrong(f'{{"a":1,"a":2,"{"k" * n * 10}":[{",".join(["{}"] * n)}]}}'),
    "yaml keys": lambda n: read_yaml("".join(f"k{i}:\n" for i in range(n))),
    "yaml keys in brackets": lambda n: read_yaml("{" + ",".join(f"k{i}" for i in range(n)) + "}"),
    "yaml list": lambda n: read_yaml("[" + "a, " * n + "]"),
    "yaml repeated keys": lambda n: read_yaml("a: b\n" * n),
    "yaml aliases": lambda n: read_yaml("a: &a [x, y]\nb: [" + "*a, " * n + "]"),
    "yaml merges": lambda n: read_yaml("a: &a {x: y}\nb:\n" + "  - {<<: *a}\n" * n),
    "yaml depth": lambda n: read_yaml(("- " * 900 + "a\n") * (n // 900)),
    "owners": lambda n: with_metadata(ownerReferences=owners(n)),
    "controllers": lambda n: with_metadata(ownerReferences=owners(n, controller=True)),
    "finalizers": lambda n: with_metadata(finalizers=[f"a.b/c{i}" for i in range(n)]),
    "bad finalizers": lambda n: with_metadata(finalizers=[""] * n),
    "labels": lambda n: with_metadata(labels={f"a{i}": "b" for i in range(n)}),
    "annotations": lambda n: with_metadata(annotations={f"a{i}": "b" for i in range(n)}),
    "field set": lambda n: lambda: from_wire({f"f:a{i}": {} for i in range(n)}),
    "merged owners": lambda n: strategic(
        {"metadata": {"ownerReferences": owners(n)}}, {"metadata": {"ownerReferences": owners(2 * n)[n // 2 :]}}
    ),
    "deleted owners": lambda n: strategic(
        {"metadata": {"ownerReferences": owners(n)}},
        {"metadata": {"ownerReferences": [{"$patch": "delete", "uid": f"u{i}"} for i in range(n)]}},
    ),
    "merged finalizers": lambda n: strategic(
        {"metadata": {"finalizers": [f"a{i}" for i in range(n)]}},
        {"metadata": {"finalizers": [f"a{i}" for i in range(n // 2, 2 * n)]}},
    ),
    "deleted finalizers": lambda n: strategic(
        {"metadata": {"finalizers": [f"a{i}" for i in range(n)]}},
        {"metadata": {"$deleteFromPrimitiveList/finalizers": [f"a{i}" for i in range(n)]}},
    ),
    "ordered finalizers": lambda n: strategic(
        {"metadata": {"finalizers": [f"a{i}" for i in range(n)]}},
        {"metadata": {"$setElementOrder/finalizers": [f"a{i}" for i in range(n)], "finalizers": ["a1"]}},
    ),
    "retained members": lambda n: strategic(
        {"data": {"a": "b"}}, {"data": {"$retainKeys": [f"a{i}" for i in range(n)], **{f"a{i}": "" for i in range(n)}}}
    ),
    "owners whose uids are lists": lambda n: strategic(
        {"metadata": {"ownerReferences": owners(1)}},
        {"metadata": {"ownerReferences": [{"uid": [i]} for i in range(n)]}},
    ),
    "json patch": lambda n: patched(
        [{"op": "add", "path": f"/data/a{i}", "value": "b"} for i in range(n)], {"data": {}}
    ),
    "managed fields": lambda n: with_metadata(
        managedFields=[
            {
                "manager": f"m{i}",
                "operation": "Update",
                "apiVersion": "v1",
                "fieldsType": "FieldsV1",
                "fieldsV1": {"f:data": {f"f:k{i}": {}}},
            }
            for i in range(n)
        ],
        labels={"a": "b"},
    ),
    "values below a long key": with_a_long_key,
    "projected paths": lambda n: pod(volumes=[projected(n)]),
    "claims of a container": lambda n: pod(**claimed(n)),
    "label selector": lambda n: lambda: labels.parse(",".join(f"a{i} in (b,c)" for i in range(n // 50))),
}


@pytest.mark.parametrize("case", CASES)
def test_twice_as_much_takes_about_twice_as_long(case: str) -> None:
    is_in_proportion(CASES[case])
