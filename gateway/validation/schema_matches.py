"""Finds the schema that an invalid value fits best among several, as kube-openapi does.

It counts passed checks; the errors of the schema with the highest count are reported.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gateway.jsontypes import JsonObject
from gateway.validation.field import FieldError
from gateway.validation.schema_formats import format_check

Check = Callable[[Any, str, None], Sequence[FieldError]]
Compile = Callable[[JsonObject], Check]
Failures = list[tuple[JsonObject, Sequence[FieldError]]]


def best(failures: Failures, value: Any, compiled: Compile) -> Sequence[FieldError]:
    """The errors of the alternative that comes nearest; of equals the first. `compiled` gives a schema's checks."""
    if len(failures) == 1:
        return failures[0][1]
    return max(failures, key=lambda each: _count(each[0], value, compiled))[1]


def _count(schema: JsonObject, value: Any, compiled: Compile) -> int:
    kind, form = schema.get("type"), schema.get("format")
    typed: JsonObject = {
        key: schema[key] for key in ("type", "format", "nullable", "x-kubernetes-int-or-string") if key in schema
    }
    fits = 0
    if kind or form or schema.get("x-kubernetes-int-or-string"):
        # a wrong format is not the type's business
        fits = int(not [one for one in compiled(typed)(value, "", None) if "FieldValueTypeInvalid" in one.reason])
    if value is None:
        return fits
    total = 1 + 1 + 1 + 1 + _junctors(schema, value, compiled)  # the end, the junctors twice, the enum
    if kind or form:
        total += fits + 1
    if isinstance(value, str):
        total += 1 + int(bool(form) and format_check(str(form)) is not None)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        total += 2
    elif isinstance(value, list):
        items = schema.get("items")
        total += 2 + (sum(_count(items, item, compiled) for item in value) if isinstance(items, dict) else 0)
    elif isinstance(value, dict):
        total += 1 + _members(schema, value, compiled)
    return total


def _members(schema: JsonObject, value: JsonObject, compiled: Compile) -> int:
    properties, additional = schema.get("properties") or {}, schema.get("additionalProperties")
    total = 0
    for key, member in value.items():
        below = properties.get(key) if key in properties else additional
        if isinstance(below, dict):
            total += _count(below, member, compiled)
    return total


def _junctors(schema: JsonObject, value: Any, compiled: Compile) -> int:
    total = sum(_count(one, value, compiled) for one in schema.get("allOf") or ())
    for key in ("anyOf", "oneOf"):
        alternatives = schema.get(key) or ()
        valid = [one for one in alternatives if not compiled(one)(value, "", None)]
        if valid and (key == "anyOf" or len(valid) == 1):
            total += _count(valid[0], value, compiled)
        elif not valid and alternatives:
            total += max(_count(one, value, compiled) for one in alternatives)
    return total
