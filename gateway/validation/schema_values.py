"""Whether a value is valid by the schema of a custom resource (OpenAPI v3 as kube-openapi validates it).

Formats of strings are not looked at.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from gateway.jsontypes import JsonObject
from gateway.validation.field import (
    FieldError,
    go_quote,
    invalid,
    not_supported,
    required,
    too_long,
    too_many,
    type_invalid,
)
from gateway.validation.go_regexp import matches

INT32 = range(-(2**31), 2**31)


class _Values:
    """Values of one object, whose fields' paths begin with `base`."""

    __slots__ = ("_base",)

    def __init__(self, base: str) -> None:
        self._base = base

    def _field(self, name: str = "") -> str:
        name = name.removeprefix(".")
        return f"{self._base}.{name}" if name and self._base else name or self._base or "<nil>"

    def check(self, value: Any, schema: JsonObject, name: str) -> list[FieldError]:
        found = self._type(value, schema, name)
        if value is None:
            return found + self._enum(value, schema, name)
        found += self._junctors(value, schema, name)
        if isinstance(value, str):
            found += self._string(value, schema, name)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found += self._number(value, schema, name)
        elif isinstance(value, list):
            found += self._list(value, schema, name)
        found += self._enum(value, schema, name)
        return found + (self._object(value, schema, name) if isinstance(value, dict) else [])

    def _type(self, value: Any, schema: JsonObject, name: str) -> list[FieldError]:
        wanted = "integer,string" if schema.get("x-kubernetes-int-or-string") else schema.get("type", "")
        if not wanted or (value is None and schema.get("nullable")):
            return []
        actual = json_type(value)
        fits = actual in wanted.split(",") or (actual == "integer" and wanted == "number")
        if fits or (actual == "number" and "integer" in wanted and float(value).is_integer()):
            return []
        return [type_invalid(self._field(name), actual, f"{name} in body must be of type {wanted}: {go_quote(actual)}")]

    def _enum(self, value: Any, schema: JsonObject, name: str) -> list[FieldError]:
        known = schema.get("enum")
        if not known or any(value == one and isinstance(value, bool) == isinstance(one, bool) for one in known):
            return []
        shown = (one if isinstance(one, str) else json.dumps(one, separators=(",", ":")) for one in known)
        return [not_supported(self._field(name), value, shown)]

    def _string(self, value: str, schema: JsonObject, name: str) -> list[FieldError]:
        """The first thing that is wrong."""
        field, longest, shortest = self._field(name), schema.get("maxLength"), schema.get("minLength")
        if longest is not None and len(value) > longest:
            return [too_long(field, longest)]
        if shortest is not None and len(value) < shortest:
            return [invalid(field, value, f"{name} in body should be at least {shortest} chars long")]
        if (pattern := schema.get("pattern")) and not matches(pattern, value):
            return [invalid(field, value, f"{name} in body should match '{pattern}'")]
        return []

    def _number(self, value: float, schema: JsonObject, name: str) -> list[FieldError]:
        found, field = list[FieldError](), self._field(name)
        if schema.get("type") == "integer" and schema.get("format") == "int32" and value not in INT32:
            found.append(
                invalid(self._field(), "", f"Checked value must be of type integer with format int32 in {name}")
            )
        factor, least, most = schema.get("multipleOf"), schema.get("minimum"), schema.get("maximum")
        if factor is not None and factor <= 0:
            message = f"factor MultipleOf declared for {name} must be positive: {_number(factor)}"
            found.append(invalid(field, factor, message))
        elif factor is not None and not float(1 / factor * value if factor < 1 else value / factor).is_integer():
            found.append(invalid(field, value, f"{name} in body should be a multiple of {_number(factor)}"))
        if most is not None and (value > most or (value == most and schema.get("exclusiveMaximum"))):
            words = "less than" if schema.get("exclusiveMaximum") else "less than or equal to"
            found.append(invalid(field, value, f"{name} in body should be {words} {_number(most)}"))
        if least is not None and (value < least or (value == least and schema.get("exclusiveMinimum"))):
            words = "greater than" if schema.get("exclusiveMinimum") else "greater than or equal to"
            found.append(invalid(field, value, f"{name} in body should be {words} {_number(least)}"))
        return found

    def _list(self, value: list[Any], schema: JsonObject, name: str) -> list[FieldError]:
        found, items, size = list[FieldError](), schema.get("items"), len(value)
        if isinstance(items, dict):
            found += [error for i, item in enumerate(value) for error in self.check(item, items, f"{name}[{i}]")]
        least, most = schema.get("minItems"), schema.get("maxItems")
        if least is not None and size < least:
            found.append(invalid(self._field(name), size, f"{name} in body should have at least {least} items"))
        if most is not None and size > most:
            found.append(too_many(self._field(name), size, most))
        return found

    def _object(self, value: JsonObject, schema: JsonObject, name: str) -> list[FieldError]:
        found, size = list[FieldError](), len(value)
        least, most = schema.get("minProperties"), schema.get("maxProperties")
        if least is not None and size < least:
            found.append(invalid(self._field(name), size, f"{name} in body should have at least {least} properties"))
        if most is not None and size > most:
            found.append(too_many(self._field(name), size, most))
        properties, additional = schema.get("properties") or {}, schema.get("additionalProperties")
        if isinstance(additional, dict):
            for key, member in value.items():
                if key not in properties:
                    found += self.check(member, additional, f"{name}.{key}")
        for key, below in properties.items():
            if key in value:
                found += self.check(value[key], below, f"{name}.{key}" if name else key)
        return found + [
            required(self._field(f"{name}.{key}")) for key in schema.get("required") or () if key not in value
        ]

    def _junctors(self, value: Any, schema: JsonObject, name: str) -> list[FieldError]:
        def checks(key: str) -> list[list[FieldError]]:
            return [self.check(value, one, name) for one in schema.get(key) or ()]

        def said(text: str) -> FieldError:
            return invalid(self._field(), "", f"{go_quote(name)} must {text}")

        found = list[FieldError]()
        if (results := checks("anyOf")) and all(results):
            found += [said("validate at least one schema (anyOf)"), *results[0]]
        if (results := checks("oneOf")) and (valid := results.count([])) != 1:
            words = f"Found {valid} valid alternatives" if valid else "Found none valid"
            found += [said(f"validate one and only one schema (oneOf). {words}"), *([] if valid else results[0])]
        if any(results := checks("allOf")):
            found += [error for result in results for error in result]
            found.append(said("validate all the schemas (allOf)" + (". None validated" if all(results) else "")))
        if (negated := schema.get("not")) is not None and not self.check(value, negated, name):
            found.append(said("not validate the schema (not)"))
        return found


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else str(value)


_JSON_TYPES: tuple[tuple[Callable[[Any], bool], str], ...] = (
    (lambda value: value is None, "null"),
    (lambda value: isinstance(value, bool), "boolean"),
    (lambda value: isinstance(value, int), "integer"),
    (lambda value: isinstance(value, float), "number"),
    (lambda value: isinstance(value, str), "string"),
    (lambda value: isinstance(value, list), "array"),
)


def json_type(value: Any) -> str:
    """The name that JSON Schema has for a value's type."""
    return next((name for is_one, name in _JSON_TYPES if is_one(value)), "object")


def validate_value(value: Any, schema: JsonObject, path: str = "") -> list[FieldError]:
    """What is wrong with a value, whose path is `path`."""
    return _Values(path).check(value, schema, "")
