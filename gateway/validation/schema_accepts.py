"""A fast check whether a value is valid by a custom resource's schema, because nearly all values are.

It is compiled to one predicate for each node of the schema. If a predicate returns false, the full check
(`schema_values`) decides and finds the errors. So a false may be wrong, but a true is always right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from gateway.jsontypes import JsonObject
from gateway.validation.schema_below import CompiledMembers, later

Accepts = Callable[[Any], bool]
Compile = Callable[[JsonObject], Callable[[Any, str, Any], Sequence[Any]]]
"""Makes the full check of a schema, which takes a value, its path and its old value, and returns the errors."""

_INT64 = range(-(2**63), 2**63)
# keywords that predicates may ignore, and keywords that they know, by type; a schema with others gets the full check
_SILENT = frozenset(
    {"type", "description", "title", "default", "nullable", "example", "externalDocs", "x-kubernetes-validations"}
    | {
        "x-kubernetes-list-type",
        "x-kubernetes-list-map-keys",
        "x-kubernetes-map-type",
        "x-kubernetes-embedded-resource",
    }
    | {"x-kubernetes-preserve-unknown-fields"}
)
_KNOWN = {
    "string": frozenset({"maxLength", "minLength", "enum"}),
    "integer": frozenset({"minimum", "maximum"}),
    "boolean": frozenset[str](),
    "array": frozenset({"items", "minItems", "maxItems"}),
    "object": frozenset({"properties", "additionalProperties", "required"}),
}


def compile_acceptance(schema: JsonObject, full: Compile) -> Accepts:
    """Returns a predicate for values. `full` compiles the check of a schema with keywords that no predicate knows."""
    plain = _plain(schema, full)
    if plain is not None and schema.get("nullable"):
        return lambda value: value is None or plain(value)
    if plain is not None:
        return plain
    made: list[Callable[[Any, str, Any], Sequence[Any]]] = []

    def accepts(value: Any) -> bool:
        if not made:
            made.append(full(schema))
        return not made[0](value, "", None)

    return accepts


def _plain(schema: JsonObject, full: Compile) -> Accepts | None:
    kind = schema.get("type", "")
    known = _KNOWN.get(kind)
    said = {key for key, value in schema.items() if value is not None} - _SILENT
    if known is None or not said <= known or (schema.get("nullable") and schema.get("enum")):
        return None
    match kind:
        case "string":
            return _string(schema)
        case "integer":
            return _integer(schema)
        case "array":
            return _array(schema, full)
        case "object":
            return _object(schema, full)
        case _:
            return lambda value: type(value) is bool


def _string(schema: JsonObject) -> Accepts | None:
    longest, shortest, known = schema.get("maxLength"), schema.get("minLength"), schema.get("enum")
    if known:
        texts = frozenset(one for one in known if isinstance(one, str))
        return None if longest or shortest else (lambda value: type(value) is str and value in texts)
    if shortest is None and longest is None:
        return _is_text
    least, most = shortest or 0, longest if longest is not None else float("inf")
    return lambda value: type(value) is str and least <= len(value) <= most


def _is_text(value: Any) -> bool:
    return type(value) is str


def _integer(schema: JsonObject) -> Accepts | None:
    low, high = schema.get("minimum"), schema.get("maximum")
    bounds = [bound for bound in (low, high) if bound is not None]
    if any(type(bound) is not int or bound not in _INT64 for bound in bounds):
        return None
    allowed = range(_INT64.start if low is None else low, _INT64.stop if high is None else high + 1)
    return lambda value: type(value) is int and value in allowed


def _array(schema: JsonObject, full: Compile) -> Accepts:
    items = schema.get("items")
    each = later(partial(compile_acceptance, full=full), items) if isinstance(items, dict) else None
    least, most = schema.get("minItems") or 0, schema.get("maxItems")
    largest = float("inf") if most is None else most

    def accepts(value: Any) -> bool:
        if type(value) is not list or not least <= len(value) <= largest:
            return False
        return each is None or all(map(each(), value))

    return accepts


def _object(schema: JsonObject, full: Compile) -> Accepts:
    known: JsonObject = schema.get("properties") or {}
    compiled = partial(compile_acceptance, full=full)
    members, additional = CompiledMembers(known, compiled), schema.get("additionalProperties")
    others = later(compiled, additional) if isinstance(additional, dict) else None
    needed: list[str] = schema.get("required") or []

    def accepts(value: Any) -> bool:
        if type(value) is not dict:
            return False
        rest = None if others is None else others()
        for key, member in value.items():
            one = members[key] if key in known else rest
            if one is not None and not one(member):
                return False
        return all(key in value for key in needed)

    return accepts
