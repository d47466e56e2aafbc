"""Whether a value is valid by the schema of a custom resource (OpenAPI v3 as kube-openapi validates it).

A schema is compiled once, to closures that are fast for valid values; messages and their order are kube-apiserver's. An
update may keep invalid values that it does not change (`Before`; KEP-4008).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

from gateway.jsontypes import JsonObject, Whole, identical
from gateway.validation import schema_numbers
from gateway.validation.field import (
    MOST_ERRORS,
    FieldError,
    go_quote,
    invalid,
    not_supported,
    path_to,
    required,
    too_long,
    too_many,
    type_invalid,
)
from gateway.validation.go_regexp import compiled
from gateway.validation.schema_accepts import compile_acceptance
from gateway.validation.schema_formats import NUMBER_FORMATS, format_check, known_format
from gateway.validation.schema_matches import best

NONE: Sequence[FieldError] = ()


class Before(Protocol):
    """What a value was before: the same of its parts, None where they can't be told, and whether nothing changed."""

    def key(self, name: str) -> Before | None: ...

    def index(self, at: int) -> Before | None: ...

    def equal(self) -> bool: ...


Check = Callable[[Any, str, Before | None], Sequence[FieldError]]  # value, its path, what it was -> what is wrong
Compile = Callable[[JsonObject], Check]
Part = Callable[[Any, str, Before | None, list[FieldError]], None]  # the same, adding to a list


def field_of(name: str) -> str:
    """A path as errors have it."""
    return name.removeprefix(".") or "<nil>"


def compile_check(schema: JsonObject, *, ranged: bool = True) -> Check:
    """The same as `compile_values`, with a quick look first."""
    compiled = partial(compile_values, ranged=ranged)
    accepts, full = compile_acceptance(schema, compiled), compiled(schema)
    return lambda value, name, was: NONE if accepts(value) else full(value, name, was)


def compile_values(schema: JsonObject, *, ranged: bool = True) -> Check:
    """What finds out what is wrong with a value; `ranged` says whether the format of a number gives its range."""
    type_error, compiled = _type(schema, ranged), partial(compile_values, ranged=ranged)
    parts = {kind: _parts(schema, kind, compiled, ranged) for kind in (str, int, float, bool, list, dict)}
    parts[Whole] = parts[float]
    enum = _enum(schema)

    def check(value: Any, name: str, was: Before | None) -> Sequence[FieldError]:
        applied = parts.get(type(value))
        found: list[FieldError] = []
        if type_error is not None:
            type_error(value, name, was, found)
        if applied is None:  # null, which nothing else is asked of
            if enum is not None:
                enum(value, name, was, found)
        else:
            for part in applied:
                part(value, name, was, found)
        if not found or (was is not None and was.equal()):
            return NONE
        return found if len(found) == 1 else list(dict.fromkeys(found))

    return check


def _parts(schema: JsonObject, kind: type, compiled: Compile, ranged: bool) -> list[Part]:
    """What values of a JSON type are asked for, in order."""
    found: list[Part | None] = [_junctors(schema, compiled)]
    if kind is str:
        found += [_string(schema), _format(schema)]
    elif kind in (int, float):
        found.append(schema_numbers.compile_number(schema, ranged=ranged))
    elif kind is list:
        found.append(_list(schema, compiled))
    found.append(_enum(schema))
    if kind is dict:
        found.append(_object(schema, compiled))
    return [part for part in found if part is not None]


def _type(schema: JsonObject, ranged: bool) -> Part | None:
    kind = schema.get("type", "")
    wanted = ("integer", "string") if schema.get("x-kubernetes-int-or-string") else (kind,) if kind else ()
    form = known_format(wanted[0] if len(wanted) == 1 else "", schema.get("format", "")) if len(wanted) < 2 else ""
    if wanted and wanted[0] in NUMBER_FORMATS and not ranged:
        form = ""
    nullable, shown = bool(schema.get("nullable")), ",".join(wanted)
    if not wanted and not form:
        return None
    numeric = "integer" in wanted or "number" in wanted

    def check(value: Any, name: str, was: Before | None, found: list[FieldError]) -> None:
        actual = _JSON_TYPES.get(type(value), "object")
        if actual == "integer" and value not in INT64:
            actual = "number"  # to Go it is a float
        if actual in wanted:
            return
        if value is None:
            if wanted and not nullable:
                found.append(_mistyped(name, shown, "null"))
            return
        if (actual == "integer" and "number" in wanted) or (
            actual == "number" and "integer" in wanted and is_json_integer(value)
        ):
            return
        own = {"integer": "int64", "number": "float64"}.get(actual, "")
        if actual in ("string", "array"):
            if form and not numeric:
                return
        elif form and own != form:
            found.append(_mistyped(name, form, own))
            return
        found.append(_mistyped(name, shown, actual))

    return check


INT64 = range(-(2**63), 2**63)
MOST_EXACT = 2**53 - 1


def is_json_integer(value: float) -> bool:
    """Whether a float is a whole number that floats can tell from its neighbours."""
    return abs(value) <= MOST_EXACT and float(value).is_integer()


_JSON_TYPES: dict[type, str] = {
    type(None): "null", bool: "boolean", int: "integer", float: "number", Whole: "number", str: "string", list: "array",
}  # fmt: skip


def _mistyped(name: str, wanted: str, actual: str) -> FieldError:
    return type_invalid(field_of(name), actual, f"{name} in body must be of type {wanted}: {go_quote(actual)}")


def _enum(schema: JsonObject) -> Part | None:
    known = schema.get("enum")
    if not known:
        return None
    shown = [one if isinstance(one, str) else json.dumps(one, separators=(",", ":")) for one in known]
    texts = frozenset(one for one in known if isinstance(one, str))

    def check(value: Any, name: str, was: Before | None, found: list[FieldError]) -> None:
        if type(value) is str:
            if value in texts:
                return
        elif any(_equals(value, one) for one in known if one is not None):
            return
        found.append(not_supported(field_of(name), value, shown))

    return check


def _equals(value: Any, known: Any) -> bool:
    """Whether a value is one of an enum's, once it is converted to its type as Go converts numbers."""
    if isinstance(value, bool) or isinstance(known, bool) or not isinstance(value, int | float):
        return identical(value, known)
    match known:
        case int():
            return int(value) == known
        case float():
            return float(value) == known
        case str() if isinstance(value, int):  # a code point
            return known == (chr(value) if 0 <= value <= 0x10FFFF else "\ufffd")
    return False


def _string(schema: JsonObject) -> Part | None:
    """The first thing that is wrong."""
    longest, shortest, pattern = schema.get("maxLength"), schema.get("minLength"), schema.get("pattern")
    matches = None if not pattern else _compiled(pattern)
    if longest is None and shortest is None and matches is None:
        return None

    def check(value: Any, name: str, was: Before | None, found: list[FieldError]) -> None:
        if longest is not None and len(value) > longest:
            found.append(too_long(field_of(name), longest))
        elif shortest is not None and len(value) < shortest:
            found.append(invalid(field_of(name), value, f"{name} in body should be at least {shortest} chars long"))
        elif matches is not None and not matches(value):
            found.append(invalid(field_of(name), value, f"{name} in body should match '{pattern}'"))

    return check


def _compiled(pattern: str) -> Callable[[str], object]:
    """A search in RE2, which takes no longer than a text is long; a pattern that it does not have matches nothing.

    What it was compiled to is remembered with the patterns of others, and not kept by the schema.
    """

    def find(text: str) -> object:
        expression, _ = compiled(pattern)
        try:
            return None if expression is None else expression.search(text)
        except (UnicodeEncodeError, re.error):
            return None

    return find


def _format(schema: JsonObject) -> Part | None:
    form = schema.get("format", "")
    if not form or schema.get("type", "") not in ("", "string") or schema.get("x-kubernetes-int-or-string"):
        return None
    is_one = format_check(form)
    if is_one is None:
        return None

    def check(value: Any, name: str, was: Before | None, found: list[FieldError]) -> None:
        if not is_one(value):
            message = f"{name} in body must be of type {form}: {go_quote(value)}"
            found.append(type_invalid(field_of(name), value, message))

    return check


def _list(schema: JsonObject, compiled: Compile) -> Part | None:
    items, least, most = schema.get("items"), schema.get("minItems"), schema.get("maxItems")
    each = compiled(items) if isinstance(items, dict) else None
    if each is None and least is None and most is None:
        return None

    def check(value: Any, name: str, was: Before | None, found: list[FieldError]) -> None:
        if each is not None:
            for i, item in enumerate(value):
                found += each(item, f"{name}[{i}]", None if was is None else was.index(i))
                if len(found) > MOST_ERRORS:
                    return
        size = len(value)
        if least is not None and size < least:
            found.append(invalid(field_of(name), size, f"{name} in body should have at least {least} items"))
        if most is not None and size > most:
            found.append(too_many(field_of(name), size, most))

    return check


def _object(schema: JsonObject, compiled: Compile) -> Part:
    properties = {key: compiled(below) for key, below in (schema.get("properties") or {}).items()}
    additional = schema.get("additionalProperties")
    others = compiled(additional) if isinstance(additional, dict) else None
    least, most = schema.get("minProperties"), schema.get("maxProperties")
    needed: list[str] = schema.get("required") or []

    def check(value: Any, name: str, was: Before | None, found: list[FieldError]) -> None:
        size = len(value)
        if least is not None and size < least:
            found.append(invalid(field_of(name), size, f"{name} in body should have at least {least} properties"))
        if most is not None and size > most:
            found.append(too_many(field_of(name), size, most))
        below = f"{name}." if name else ""
        for key, member in value.items():
            one = properties.get(key)
            if one is not None:
                if was is None or (not name and key in _TYPE_META):
                    found += one(member, path_to(below, key), None)
                else:
                    found += one(member, path_to(below, key), was.key(key))
            elif others is not None:
                found += others(member, path_to(name, f".{key}"), None if was is None else was.key(key))
            if len(found) > MOST_ERRORS:
                return
        found += [required(field_of(f"{name}.{key}")) for key in needed if key not in value]

    return check


_TYPE_META = ("apiVersion", "kind", "metadata")


def _junctors(schema: JsonObject, compiled: Compile) -> Part | None:
    any_of, one_of, all_of = (
        [(one, compiled(one)) for one in schema.get(key) or ()] for key in ("anyOf", "oneOf", "allOf")
    )
    negated = schema.get("not")
    refused = None if negated is None else compiled(negated)
    if not any_of and not one_of and not all_of and refused is None:
        return None

    def check(value: Any, name: str, was: Before | None, found: list[FieldError]) -> None:
        if any_of:
            _any(any_of, compiled, value, name, was, found)
        if one_of:
            _one(one_of, compiled, value, name, was, found)
        if all_of:
            wrong = [errors for _, one in all_of if (errors := one(value, name, was))]
            for errors in wrong:
                found += errors
            if wrong:
                none = ". None validated" if len(wrong) == len(all_of) else ""
                found.append(_said(name, f"validate all the schemas (allOf){none}"))
        if refused is not None and not refused(value, name, was):
            found.append(_said(name, "not validate the schema (not)"))

    return check


Alternatives = list[tuple[JsonObject, Check]]


def _any(
    alternatives: Alternatives, compiled: Compile, value: Any, name: str, was: Before | None, found: list[FieldError]
) -> None:
    failures = []
    for schema, one in alternatives:
        errors = one(value, name, was)
        if not errors:
            return
        failures.append((schema, errors))
    found.append(_said(name, "validate at least one schema (anyOf)"))
    found += best(failures, value, compiled)


def _one(
    alternatives: Alternatives, compiled: Compile, value: Any, name: str, was: Before | None, found: list[FieldError]
) -> None:
    results = [(schema, one(value, name, was)) for schema, one in alternatives]
    valid = sum(not errors for _, errors in results)
    if valid == 1:
        return
    words = f"Found {valid} valid alternatives" if valid else "Found none valid"
    found.append(_said(name, f"validate one and only one schema (oneOf). {words}"))
    if not valid:
        found += best(results, value, compiled)


def _said(name: str, text: str) -> FieldError:
    return invalid("<nil>", "", f"{go_quote(name)} must {text}")


def validate_value(value: Any, schema: JsonObject, path: str = "") -> list[FieldError]:
    """What is wrong with a value, whose path is `path`."""
    found = compile_values(schema)(value, "", None)
    return [_under(path, error) for error in found] if path else list(found)


def _under(path: str, error: FieldError) -> FieldError:
    field = path if error.field == "<nil>" else f"{path}.{error.field}"
    return error.at(field)
