"""CRDs with schemas and rules that are chosen to take long, and objects that are checked by them."""

from __future__ import annotations

import asyncio
import json
import uuid
from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer
from gateway.jsontypes import JsonObject
from storage.etcd import EtcdClient, EtcdSettings
from tests.hostile.probe import held_at_most
from tests.hostile.test_bodies import send
from tests.integration.customresources.definitions import DEFINITIONS, definition, establish, version
from tests.integration.server.client import ask
from tests.until import until

LIMIT = 0.1
GROUP = "costly.example.com"
NUMBERS = {
    "type": "array",
    "maxItems": 250,
    "items": {"type": "integer"},
    "x-kubernetes-validations": [{"rule": "self.all(x, self.all(y, x + y >= 0))"}],
}


def objects(properties: JsonObject, **facts: Any) -> JsonObject:
    return {"type": "object", "properties": properties, **facts}


def ruled(*rules: str) -> JsonObject:
    one = {"a": {"type": "string", "maxLength": 10}}
    return objects(one, **{"x-kubernetes-validations": [{"rule": rule} for rule in rules]})


def nested(depth: int) -> JsonObject:
    schema: JsonObject = {"type": "string"}
    for _ in range(depth):
        schema = objects({"a": schema})
    return schema


SCHEMAS: dict[str, tuple[JsonObject, int]] = {
    "deep": (nested(240), 201),
    "wide": (objects({f"a{i}": {"type": "string", "pattern": f"^a{i}$"} for i in range(3000)}), 201),
    "a long rule": (ruled("self.a == 'x' && " * 3000 + "true"), 201),
    "a long text that is not a rule": (ruled("a && " * 9000 + ")"), 422),
    "open brackets": (ruled("[{" * 9000), 422),
    "many rules": (ruled(*(f"self.a != 'x{i}'" for i in range(400))), 201),
    "a long enumeration": ({"type": "string", "enum": [f"a{i}" for i in range(50_000)]}, 201),
    "a long default": ({"type": "array", "items": {"type": "string"}, "default": ["a"] * 100_000}, 201),
    "large patterns": (
        objects({f"p{i}": {"type": "string", "pattern": f"(a{{1,500}}){{1,2}}{i}"} for i in range(50)}),
        201,
    ),
}


@pytest.mark.parametrize("schema", SCHEMAS)
def test_a_schema_holds_nobody(server: ApiServer, schema: str) -> None:
    found, expected = SCHEMAS[schema]
    body = definition("schemas.example.com", version("v1", {"spec": found}))
    send(
        server, "POST", f"{DEFINITIONS}?dryRun=All", definition("warm.example.com", version("v1", {"spec": nested(1)}))
    )
    with held_at_most(server, LIMIT):
        status, text = send(server, "POST", f"{DEFINITIONS}?dryRun=All", body)
    assert status == expected, text[:500]


def test_rules_that_go_through_lists_hold_nobody(server: ApiServer) -> None:
    """An object of a few kilobytes may use up the whole cost budget of its rules; other requests are not delayed."""
    group = f"g{uuid.uuid4().hex}.example.com"  # unique for this run: another run may use the same server
    establish(server, definition(group, version("v1", {"spec": objects({f"a{i}": NUMBERS for i in range(12)})})))
    things = f"/apis/{group}/v1/namespaces/default/widgets"
    spec = {f"a{i}": list(range(250)) for i in range(12)}
    body = {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": spec}
    small = {**body, "metadata": {"name": "small"}, "spec": {}}
    assert send(server, "POST", things, small)[0] == 201  # the rules are compiled from here on
    with held_at_most(server, LIMIT):
        assert send(server, "POST", things, body)[0] == 201
        spec["a0"][0] = 1
        merge = "application/merge-patch+json"
        assert send(server, "PATCH", f"{things}/a", {"spec": {"a0": spec["a0"]}}, merge)[0] == 200
        status, _ = send(server, "PATCH", f"{things}/small", {"spec": spec}, merge)
        assert status == 200


def test_rules_that_read_long_texts_hold_nobody(server: ApiServer) -> None:
    group = f"g{uuid.uuid4().hex}.example.com"
    rules = ("!isURL(self.a)", "!isIP(self.a)", "'%s%s%s'.format([[self.a], [self.a], [self.a]]) != ''")
    text = objects(
        {"a": {"type": "string"}}, **{"x-kubernetes-validations": [{"rule": rule} for rule in rules], "type": "object"}
    )
    establish(server, definition(group, version("v1", {"spec": text})))
    things = f"/apis/{group}/v1/namespaces/default/widgets"
    body = {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"a": "\x7f" * 500_000}}
    with held_at_most(server, LIMIT):
        status, answer = send(server, "POST", f"{things}?dryRun=All", body)
    assert status == 201, answer[:300]


@pytest.mark.parametrize(("count", "expected"), [(3_000, 201), (99_000, 400)])
def test_empty_items_with_nested_defaults_hold_nobody(server: ApiServer, count: int, expected: int) -> None:
    group = f"g{uuid.uuid4().hex}.example.com"
    leaf = objects({"b": {"type": "string", "default": "x"}}, default={})
    items = {"type": "array", "items": objects({"a": objects({"c": leaf}, default={}), "z": {"type": "string"}})}
    establish(server, definition(group, version("v1", {"spec": objects({"items": items})})))
    things = f"/apis/{group}/v1/namespaces/default/widgets"
    item: JsonObject = {} if count > 10_000 else {"z": "a member that a client sends"}
    named = {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": "a"}}
    body = json.dumps({**named, "spec": {"items": [item] * count}}).encode()
    with held_at_most(server, LIMIT):
        for method, path, media_type in (
            ("POST", f"{things}?dryRun=All", "application/json"),
            ("PATCH", f"{things}/a?fieldManager=me&dryRun=All", "application/apply-patch+yaml"),
        ):
            status, text = send(server, method, path, body, media_type)
            assert status == expected, text[:300]
            assert expected == 201 or "values to an object of this size; send fewer items" in text


def alternatives(depth: int) -> JsonObject:
    schema: JsonObject = {"minLength": 100}
    for i in range(depth):
        schema = {"anyOf": [schema, {"minLength": 100 + i}]}
    return {"type": "string", **schema}


HARD: dict[str, tuple[JsonObject, Any]] = {
    "alternatives in alternatives": (alternatives(60), "x"),
    "many objects that are listed": (
        {
            "type": "array",
            "items": {
                "type": "object",
                "x-kubernetes-preserve-unknown-fields": True,
                "enum": [{"a": i} for i in range(20_000)],
            },
        },
        [{"a": -1}] * 2000,
    ),
    "many texts that are listed": (
        {"type": "array", "items": {"type": "string", "enum": [f"e{i}" for i in range(20_000)]}},
        ["x"] * 5000,
    ),
    "many members that are required": (
        {**(wide := objects({f"a{i}": {"type": "string"} for i in range(15_000)})), "required": [*wide["properties"]]},
        {},
    ),
    "many alternatives for many items": (
        {"type": "array", "items": {"type": "string", "oneOf": [{"minLength": 1000 + i} for i in range(1000)]}},
        ["x"] * 300,
    ),
}


@pytest.mark.parametrize("case", HARD)
def test_an_object_that_a_schema_refuses_holds_nobody(server: ApiServer, case: str) -> None:
    """A small object may take long to validate by a large schema. It is validated in a thread, only as long as
    needed.
    """
    schema, value = HARD[case]
    group = f"g{uuid.uuid4().hex}.example.com"
    establish(server, definition(group, version("v1", {"spec": objects({"a": schema})})))
    body = {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"a": value}}
    with held_at_most(server, LIMIT):
        status, text = send(server, "POST", f"/apis/{group}/v1/namespaces/default/widgets", body)
    assert status == 422, text[:500]


TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
STEEP = {"name": "Steep", "type": "string", "jsonPath": ".spec" + "...*" * 8}
SMALL_OBJECTS = 1200


def store(server: ApiServer, group: str, count: int) -> None:
    """Writes small objects with a deep spec into etcd: to create as many by requests takes longer than the test."""
    spec: JsonObject = {}
    for _ in range(12):
        spec = {"a": spec or 1}

    async def write() -> None:
        async with EtcdClient(EtcdSettings((server.etcd_endpoint,), timeout=60)) as client, asyncio.TaskGroup() as all_:
            for number in range(count):
                metadata = {"name": f"w{number}", "namespace": "default", "uid": str(uuid.uuid4())}
                body = {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": metadata, "spec": spec}
                key = f"/registry/{group}/widgets/default/w{number}".encode()
                all_.create_task(client.put(key, json.dumps(body).encode()))

    asyncio.run(write())


def test_columns_that_look_at_small_objects_many_times_hold_nobody(server: ApiServer) -> None:
    """A short object may cost as much as a long one, so that a piece of a table is not bounded by its bytes alone."""
    group = f"g{uuid.uuid4().hex}.example.com"
    anything = version("v1", {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}})
    establish(server, definition(group, {**anything, "additionalPrinterColumns": [STEEP]}))
    widgets = f"/apis/{group}/v1/namespaces/default/widgets"
    store(server, group, SMALL_OBJECTS)
    until(lambda: len(ask(server, "GET", widgets).json["items"]) == SMALL_OBJECTS)
    with held_at_most(server, LIMIT):
        table = ask(server, "GET", widgets, headers=TABLE).json
    assert (table["kind"], len(table["rows"])) == ("Table", SMALL_OBJECTS)
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Steep"]
