"""Validates the defaults in the schema of a custom resource.

A default must have no unknown members and no invalid values. Metadata of objects in it must be valid, and the rules of
the schema must hold. A default of metadata, kind or apiVersion is checked within an object that has nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

from gateway.jsontypes import JsonObject
from gateway.schema.catalog import META, type_of
from gateway.schema.decode import DecodeError, DecodeReport, decode
from gateway.time_limits import look
from gateway.validation.effort import MOST_EFFORT, limited
from gateway.validation.embedded_objects import compile_embedded
from gateway.validation.field import FieldError, invalid, path_to
from gateway.validation.schema_values import validate_value

META_FIELDS = ("metadata", "apiVersion", "kind")
_TOO_MUCH = (
    f"checking the defaults of this schema takes more than {MOST_EFFORT} steps; write fewer items in them, or fewer "
    "alternatives (anyOf, oneOf, allOf)"
)
_SURROUNDING = {"kind": "Validation", "apiVersion": "validation/v1"}

EvaluateRules = Callable[[JsonObject, bool, Any, str], list[FieldError]]
"""Takes a schema, whether it is the schema of a whole object, a value and its path; returns the errors of the rules
that the value breaks. Raises DefaultsOutOfBudget."""


class DefaultsOutOfBudget(Exception):
    """The rules of all defaults cost too much together. No more defaults are checked; `found` are errors to report."""

    def __init__(self, found: list[FieldError]) -> None:
        super().__init__("defaults cost too much")
        self.found = found


@dataclass(frozen=True, slots=True)
class _Place:
    """The place of a subschema in the whole schema."""

    path: str
    # the schema of the innermost whole object around it (the root, or an embedded resource), and the steps from there
    root: JsonObject
    steps: tuple[str, ...] = ()
    in_metadata: bool = False

    def below(self, path: str, step: str) -> _Place:
        return replace(self, path=path, steps=(*self.steps, step))


def pruned(value: Any, schema: JsonObject) -> Any:
    """A value without the members that its schema neither specifies nor preserves."""
    items, additional = schema.get("items"), schema.get("additionalProperties")
    if isinstance(value, list):
        return [pruned(item, items) for item in value] if isinstance(items, dict) else value
    if not isinstance(value, dict):
        return value
    properties, kept = schema.get("properties") or {}, dict[str, Any]()
    embedded = schema.get("x-kubernetes-embedded-resource")
    for name, member in value.items():
        if embedded and name in META_FIELDS:
            kept[name] = member
        elif name in properties:
            kept[name] = pruned(member, properties[name])
        elif isinstance(additional, dict):
            kept[name] = pruned(member, additional)
        elif additional is True or schema.get("x-kubernetes-preserve-unknown-fields"):
            kept[name] = member
    return kept


def validate_defaults(schema: JsonObject, path: str, evaluate: EvaluateRules) -> list[FieldError]:
    """The errors of all defaults in a structural schema."""
    found = list[FieldError]()
    root = {**schema, "x-kubernetes-embedded-resource": True}

    def validated() -> list[FieldError]:
        try:
            _validate(root, _Place(path, root), evaluate, found)
        except DefaultsOutOfBudget as error:
            found.extend(error.found)
        return found

    return list(limited(validated, path, _TOO_MUCH))


def _validate(schema: JsonObject, place: _Place, evaluate: EvaluateRules, found: list[FieldError]) -> None:
    embedded = bool(schema.get("x-kubernetes-embedded-resource"))
    if embedded:
        place = _Place(place.path, schema)
    if (default := schema.get("default")) is not None:
        found += _default(default, schema, place, evaluate)
    if isinstance(items := schema.get("items"), dict):
        _validate(items, place.below(f"{place.path}.items", "[]"), evaluate, found)
    for name, below in (schema.get("properties") or {}).items():
        inner = place.below(f"{place.path}.properties[{name}]", name)
        if embedded and name in META_FIELDS:
            inner = replace(inner, in_metadata=True)
        _validate(below, inner, evaluate, found)


def _default(default: Any, schema: JsonObject, place: _Place, evaluate: EvaluateRules) -> list[FieldError]:
    path, asked = f"{place.path}.default", _asked(schema, [default])
    found = list[FieldError]()
    if place.in_metadata:
        if problem := _metadata_problem(default, place):
            return [invalid(path, default, f"must result in valid metadata: {problem}")]
    else:
        if pruned(default, schema) != default:
            found.append(invalid(path, default, "must not have unknown fields"))
        if wrong := coercion_error(default, schema, path):
            return [*found, wrong]
        embedded = compile_embedded(asked)
        if embedded is not None and (errors := embedded(default, path)):
            return found + errors
    if errors := validate_value(default, asked, path):
        return found + errors
    return found + evaluate(schema, schema is place.root, default, path)


def _asked(schema: JsonObject, values: Sequence[Any]) -> JsonObject:
    """The schema without the parts that none of these values has, so that a small default compiles a small check.

    x-kubernetes-int-or-string is left out: kube-apiserver checks defaults only by the type that is given beside it.
    """
    look()
    made = {key: value for key, value in schema.items() if key != "x-kubernetes-int-or-string"}
    objects = [value for value in values if isinstance(value, dict)]
    if isinstance(made.get("items"), dict):
        items = [item for value in values if isinstance(value, list) for item in value]
        made["items"] = _asked(made["items"], items) if items else None
    if isinstance(made.get("additionalProperties"), dict):
        members = [member for value in objects for member in value.values()]
        made["additionalProperties"] = _asked(made["additionalProperties"], members) if members else None
    if isinstance(made.get("not"), dict):
        made["not"] = _asked(made["not"], values)
    for key in ("allOf", "anyOf", "oneOf"):
        if made.get(key):
            made[key] = [_asked(below, values) for below in made[key]]
    if properties := made.get("properties"):
        found: dict[str, list[Any]] = {}
        for name, member in ((name, member) for value in objects for name, member in value.items()):
            if name in properties:
                found.setdefault(name, []).append(member)
        made["properties"] = {name: _asked(properties[name], members) for name, members in found.items()}
    return made


def _metadata_problem(default: Any, place: _Place) -> str:
    """The errors of an object that has nothing but this default, as one text; "" if there are none."""
    surrounding: Any = deepcopy(default)
    for step in reversed(place.steps):
        surrounding = [surrounding] if step == "[]" else {step: surrounding}
    surrounding = {**_SURROUNDING, **surrounding}
    if wrong := coercion_error(surrounding, place.root, ""):
        return str(wrong)
    embedded = compile_embedded(place.root)
    errors = embedded(surrounding, "") if embedded is not None else []
    texts = list(dict.fromkeys(map(str, errors)))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]" if texts else ""


def coercion_error(value: Any, schema: JsonObject, path: str) -> FieldError | None:
    """The first error in kind, apiVersion or metadata that makes an embedded object in a value undecodable."""
    if isinstance(value, list):
        items = schema.get("items")
        if not isinstance(items, dict):
            return None
        errors = (coercion_error(item, items, f"{path}[{i}]") for i, item in enumerate(value))
        return next((error for error in errors if error), None)
    if not isinstance(value, dict):
        return None
    properties, additional = schema.get("properties") or {}, schema.get("additionalProperties")
    for name, member in value.items():
        where = path_to(path, f".{name}" if path else name)
        if schema.get("x-kubernetes-embedded-resource") and (error := _object_error(name, member, where)):
            return error
        below = properties.get(name)
        if below is not None:
            error = coercion_error(member, below, where)
        else:
            error = (
                coercion_error(member, additional, path_to(path, f"[{name}]")) if isinstance(additional, dict) else None
            )
        if error:
            return error
    return None


def _object_error(name: str, member: Any, path: str) -> FieldError | None:
    if name in ("apiVersion", "kind"):
        return None if isinstance(member, str) else invalid(path, member, "must be a string")
    if name != "metadata":
        return None
    try:
        decode(type_of(META + "ObjectMeta"), member, DecodeReport())
    except DecodeError as error:
        return invalid(path, member, str(error))
    return None
