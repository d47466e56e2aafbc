"""Compiling a schema, and checking a value by it, takes time and memory in proportion to the size of both."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable

import pytest

from gateway.customresources.schema_type import object_type
from gateway.jsontypes import JsonObject
from gateway.patches import json_patch
from gateway.validation.field import MOST_ERRORS
from gateway.validation.schema_defaults import validate_defaults
from gateway.validation.schema_values import compile_check, compile_values
from tests.hostile.doubling import SIZE, Work, calls, is_in_proportion

STRING: JsonObject = {"type": "string"}


def required_members(size: int) -> Work:
    names = [f"a{i}" for i in range(size)]
    schema = {"type": "object", "properties": dict.fromkeys(names, STRING), "required": names}
    return lambda: object_type(schema, "Thing")


def listed_objects(size: int) -> Work:
    """As many values as the schema lists, none of which is equal to a listed one."""
    items = {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "enum": [{"a": i} for i in range(size)]}
    check, value = compile_values({"type": "array", "items": items}), [{"a": -i - 1} for i in range(size)]
    return lambda: check(value, "", None)


def listed_numbers(size: int) -> Work:
    items = {"type": "integer", "enum": list(range(size))}
    check, value = compile_values({"type": "array", "items": items}), list(range(size))
    return lambda: check(value, "", None)


def repeated_members_of_a_patch(size: int) -> Work:
    operation = '{"op":"add","path":"/data/a","value":"b","value":"c"}'
    body = f"[{','.join([operation] * min(size, json_patch.MAX_OPERATIONS))}]".encode()
    return lambda: json_patch.parse(body, True)


CASES: dict[str, Callable[[int], Work]] = {
    "required members": required_members,
    "objects that are listed": listed_objects,
    "numbers that are listed": listed_numbers,
    "members of a patch that come twice": repeated_members_of_a_patch,
}


@pytest.mark.parametrize("case", CASES)
def test_twice_as_much_takes_about_twice_as_long(case: str) -> None:
    is_in_proportion(CASES[case], 1000)


def nested(key: str, depth: int) -> JsonObject:
    """A schema with nested alternatives, none of which matches a short string."""
    schema: JsonObject = {"minLength": 100}
    for i in range(depth):
        schema = {key: schema if key == "not" else [schema, {"minLength": 100 + i}]}
    return {"type": "string", **schema}


@pytest.mark.parametrize("key", ["anyOf", "oneOf", "allOf", "not"])
def test_alternatives_in_alternatives_take_no_longer_at_each_level(key: str) -> None:
    """The result and the cost of an alternative are kept, and used by all alternatives around it.

    If a level took k times as long as the one below it, ten more levels would take k to the power of ten.
    """

    def work(depth: int) -> Work:
        schema = nested(key, depth)
        return lambda: compile_check(schema)("x", "a", None)

    work(5)()
    assert calls(work(15)) < 20 * calls(work(5))


def test_many_errors_share_the_values_that_a_schema_lists() -> None:
    """30 000 wrong values, for which the schema listed 40 000, once took 3 GB."""
    items = {**STRING, "enum": [f"e{i}" for i in range(20_000)]}
    schema: JsonObject = {"type": "array", "items": items}
    value = [f"x{i}" for i in range(MOST_ERRORS)]
    check = compile_values(schema)
    tracemalloc.start()
    found = check(value, "a", None)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(found) == len(value)
    assert peak < 50 * len(json.dumps([schema, value]))
    assert found[0].body.startswith('Unsupported value: "x0": supported values: "e0", "e1"')


def test_defaults_in_defaults_take_no_longer_at_each_level() -> None:
    """Only members that a default has are checked below it: 30 levels above 3 000 members once took 7 s."""

    def work(levels: int) -> Work:
        schema: JsonObject = {"type": "object", "properties": {f"a{i}": STRING for i in range(SIZE)}}
        for _ in range(levels):
            schema = {"type": "object", "properties": {"a": schema}, "default": {}}
        root = {"type": "object", "properties": {"spec": schema}}
        return lambda: validate_defaults(root, "schema", lambda *_: [])

    work(2)()
    assert calls(work(40)) < 3 * calls(work(2))
