"""Checks a value by the schema of a custom resource (OpenAPI v3, as kube-openapi validates it).

A schema is compiled once, to closures that are fast for valid values. Messages and their order are kube-apiserver's. An
update may keep invalid values that it does not change (`OldValue`; KEP-4008).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

from gateway.jsontypes import JsonObject, Whole
from gateway.time_limits import look
from gateway.validation import schema_numbers
from gateway.validation.effort import FAILED, STEPS, TEXT, TRIED, limited, spend
from gateway.validation.field import (
    MOST_ERRORS,
    FieldError,
    go_quote,
    invalid,
    path_to,
    required,
    too_long,
    too_many,
    type_invalid,
)
from gateway.validation.go_regexp import MANY_STEPS, compiled, search, steps
from gateway.validation.schema_accepts import compile_acceptance
from gateway.validation.schema_below import CompiledMembers, later
from gateway.validation.schema_enums import compile_enum
from gateway.validation.schema_formats import NUMBER_FORMATS, format_check, known_format
from gateway.validation.schema_matches import CountedSchema, Failure, best, trying

NONE: Sequence[FieldError] = ()
_SOME = 64  # items; checking usual ones takes less than a millisecond


class OldValue(Protocol):
    """The old value that an update replaces. `key` and `index` return the old value of a part, or None if the part has
    no counterpart. `equal` returns whether the update leaves the value as it was.
    """

    def key(self, name: str) -> OldValue | None: ...

    def index(self, at: int) -> OldValue | None: ...

    def equal(self) -> bool: ...


Check = Callable[[Any, str, OldValue | None], Sequence[FieldError]]  # value, its path, the old value -> errors
Compile = Callable[[JsonObject], Check]
Part = Callable[[Any, str, OldValue | None, list[FieldError]], None]  # the same, but adds the errors to a list


def field_of(name: str) -> str:
    """The field of an error, for a path within the object."""
    return name.removeprefix(".") or "<nil>"


def compile_check(schema: JsonObject, *, ranged: bool = True) -> Check:
    """As `compile_values`, but tries fast predicates first, and bounds the work for one value."""
    compiled = partial(compile_values, ranged=ranged)
    accepts, full = compile_acceptance(schema, compiled), later(compiled, schema)
    return lambda value, name, was: limited(lambda: NONE if accepts(value) else full()(value, name, was))


def compile_values(schema: JsonObject, *, ranged: bool = True) -> Check:
    """Returns the full check of a schema. `ranged`: whether a number must be in the range of its type and format."""
    type_error, compiled = _type(schema, ranged), partial(compile_values, ranged=ranged)
    junctors, enum = _junctors(schema, compiled), _enum(schema)  # compiled once, for values of all types
    parts: dict[type, list[Part]] = {}  # by the Python types of the values that came so far

    def check(value: Any, name: str, was: OldValue | None) -> Sequence[FieldError]:
        applied = parts.get(type(value))
        if applied is None and value is not None:
            applied = parts[type(value)] = _parts(schema, type(value), compiled, ranged, (junctors, enum))
        found: list[FieldError] = []
        if type_error is not None:
            type_error(value, name, was, found)
        if applied is None:  # null: only the enum applies
            if enum is not None:
                enum(value, name, was, found)
        else:
            for part in applied:
                part(value, name, was, found)
        if not found or (was is not None and was.equal()):
            return NONE
        return found if len(found) == 1 else list(dict.fromkeys(found))

    return check


def _parts(
    schema: JsonObject, kind: type, compiled: Compile, ranged: bool, shared: tuple[Part | None, Part | None]
) -> list[Part]:
    """The checks for values of a Python type, in order. `shared` are those of alternatives and enum, for all types."""
    found: list[Part | None] = [shared[0]]
    if kind is str:
        found += [_string(schema), _format(schema)]
    elif kind in (int, float, Whole):
        found.append(schema_numbers.compile_number(schema, ranged=ranged))
    elif kind is list:
        found.append(_list(schema, compiled))
    found.append(shared[1])
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

    def check(value: Any, name: str, was: OldValue | None, found: list[FieldError]) -> None:
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
        if actual in ("string", "array"):
            if form and not numeric:
                return
        elif form:
            found.append(_mistyped(name, form, {"integer": "int64", "number": "float64"}.get(actual, "")))
            return
        found.append(_mistyped(name, shown, actual))

    return check


INT64 = range(-(2**63), 2**63)
MOST_EXACT = 2**53 - 1


def is_json_integer(value: float) -> bool:
    """Whether a float is a whole number of at most 2**53 - 1: all such numbers are exact floats."""
    return abs(value) <= MOST_EXACT and float(value).is_integer()


_JSON_TYPES: dict[type, str] = {
    type(None): "null", bool: "boolean", int: "integer", float: "number", Whole: "number", str: "string", list: "array",
}  # fmt: skip


def _mistyped(name: str, wanted: str, actual: str) -> FieldError:
    return type_invalid(field_of(name), actual, f"{name} in body must be of type {wanted}: {go_quote(actual)}")


def _enum(schema: JsonObject) -> Part | None:
    problem = compile_enum(schema)
    if problem is None:
        return None

    def check(value: Any, name: str, was: OldValue | None, found: list[FieldError]) -> None:
        if (error := problem(value, field_of(name))) is not None:
            found.append(error)

    return check


def _string(schema: JsonObject) -> Part | None:
    """The check of length and pattern; it reports only the first error."""
    longest, shortest, pattern = schema.get("maxLength"), schema.get("minLength"), schema.get("pattern")
    matches = None if not pattern else _compiled(pattern)
    if longest is None and shortest is None and matches is None:
        return None

    def check(value: Any, name: str, was: OldValue | None, found: list[FieldError]) -> None:
        if longest is not None and len(value) > longest:
            found.append(too_long(field_of(name), longest))
        elif shortest is not None and len(value) < shortest:
            found.append(invalid(field_of(name), value, f"{name} in body should be at least {shortest} chars long"))
        elif matches is not None and not matches(value):
            found.append(invalid(field_of(name), value, f"{name} in body should match '{pattern}'"))

    return check


def _compiled(pattern: str) -> Callable[[str], object]:
    """Returns a search by RE2, whose time is linear in the length of the text. An invalid pattern matches nothing.

    The compiled pattern is in the cache for all schemas (go_regexp.py), and not kept by the schema.
    """

    def find(text: str) -> object:
        expression, _ = compiled(pattern)
        if expression is None:
            return None
        taken = steps(expression, text)
        spend(len(text) // TEXT + (taken // STEPS if taken > MANY_STEPS else 0))
        try:
            return search(expression, text)
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

    def check(value: Any, name: str, was: OldValue | None, found: list[FieldError]) -> None:
        if not is_one(value):
            message = f"{name} in body must be of type {form}: {go_quote(value)}"
            found.append(type_invalid(field_of(name), value, message))

    return check


def _list(schema: JsonObject, compiled: Compile) -> Part | None:
    items, least, most = schema.get("items"), schema.get("minItems"), schema.get("maxItems")
    each = later(compiled, items) if isinstance(items, dict) else None
    if each is None and least is None and most is None:
        return None

    def check(value: Any, name: str, was: OldValue | None, found: list[FieldError]) -> None:
        if each is not None:
            one = each()
            for i, item in enumerate(value):
                if not i % _SOME:
                    look()
                    spend(min(_SOME, len(value) - i))
                found += one(item, f"{name}[{i}]", None if was is None else was.index(i))
                if len(found) > MOST_ERRORS:
                    return
        size = len(value)
        if least is not None and size < least:
            found.append(invalid(field_of(name), size, f"{name} in body should have at least {least} items"))
        if most is not None and size > most:
            found.append(too_many(field_of(name), size, most))

    return check


def _object(schema: JsonObject, compiled: Compile) -> Part:
    known: JsonObject = schema.get("properties") or {}
    properties = CompiledMembers(known, compiled)
    additional = schema.get("additionalProperties")
    others = later(compiled, additional) if isinstance(additional, dict) else None
    least, most = schema.get("minProperties"), schema.get("maxProperties")
    needed: list[str] = schema.get("required") or []

    def check(value: Any, name: str, was: OldValue | None, found: list[FieldError]) -> None:
        size = len(value)
        spend(size + 1)
        if least is not None and size < least:
            found.append(invalid(field_of(name), size, f"{name} in body should have at least {least} properties"))
        if most is not None and size > most:
            found.append(too_many(field_of(name), size, most))
        below = f"{name}." if name else ""
        for key, member in value.items():
            if key in known:
                one = properties[key]
                if was is None or (not name and key in _TYPE_META):
                    found += one(member, path_to(below, key), None)
                else:
                    found += one(member, path_to(below, key), was.key(key))
            elif others is not None:
                found += others()(member, path_to(name, f".{key}"), None if was is None else was.key(key))
            if len(found) > MOST_ERRORS:
                return
        found += [required(field_of(f"{name}.{key}")) for key in needed if key not in value]

    return check


_TYPE_META = ("apiVersion", "kind", "metadata")


def _junctors(schema: JsonObject, compiled: Compile) -> Part | None:
    any_of = _alternatives(schema.get("anyOf"), compiled)
    one_of = _alternatives(schema.get("oneOf"), compiled)
    all_of = _alternatives(schema.get("allOf"), compiled)
    negated = schema.get("not")
    refused = None if negated is None else later(compiled, negated)
    if not any_of and not one_of and not all_of and refused is None:
        return None

    units = TRIED * (len(any_of) + len(one_of) + len(all_of) + 1)

    def check(value: Any, name: str, was: OldValue | None, found: list[FieldError]) -> None:
        spend(units)
        with trying:
            if any_of:
                _any(any_of, value, name, was, found)
            if one_of:
                _one(one_of, value, name, was, found)
            if all_of:
                _all(all_of, value, name, was, found)
            if refused is not None and not refused()(value, name, was):
                found.append(_said(name, "not validate the schema (not)"))

    return check


def _alternatives(schemas: list[JsonObject] | None, compiled: Compile) -> list[CountedSchema]:
    return [CountedSchema(one, compiled) for one in schemas or ()]


def _all(
    alternatives: list[CountedSchema], value: Any, name: str, was: OldValue | None, found: list[FieldError]
) -> None:
    wrong = 0
    for one in alternatives:
        look()
        if errors := one.check(value, name, was):
            spend(FAILED)
            wrong += 1
            if len(found) <= MOST_ERRORS:
                found += errors
    if wrong:
        none = ". None validated" if wrong == len(alternatives) else ""
        found.append(_said(name, f"validate all the schemas (allOf){none}"))


def _any(
    alternatives: list[CountedSchema], value: Any, name: str, was: OldValue | None, found: list[FieldError]
) -> None:
    failures = list[Failure]()
    for one in alternatives:
        look()
        errors = one.check(value, name, was)
        if not errors:
            return
        one.tried(value, errors, new=was is None)
        failures.append((one, errors))
    found.append(_said(name, "validate at least one schema (anyOf)"))
    found += best(failures, value)


def _one(
    alternatives: list[CountedSchema], value: Any, name: str, was: OldValue | None, found: list[FieldError]
) -> None:
    results = list[Failure]()
    for one in alternatives:
        look()
        errors = one.check(value, name, was)
        one.tried(value, errors, new=was is None)
        results.append((one, errors))
    valid = sum(not errors for _, errors in results)
    if valid == 1:
        return
    words = f"Found {valid} valid alternatives" if valid else "Found none valid"
    found.append(_said(name, f"validate one and only one schema (oneOf). {words}"))
    if not valid:
        found += best(results, value)


def _said(name: str, text: str) -> FieldError:
    return invalid("<nil>", "", f"{go_quote(name)} must {text}")


def validate_value(value: Any, schema: JsonObject, path: str = "") -> list[FieldError]:
    """The errors of a value at `path`, by a schema that is compiled for this call."""
    found = compile_values(schema)(value, "", None)
    return [_under(path, error) for error in found] if path else list(found)


def _under(path: str, error: FieldError) -> FieldError:
    field = path if error.field == "<nil>" else f"{path}.{error.field}"
    return error.at(field)
