"""Structural schemas of custom resources (page "Extend the Kubernetes API with CustomResourceDefinitions").

In a structural schema, each part that `allOf`, `anyOf`, `oneOf` or `not` mentions is also specified outside of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from gateway.jsontypes import JsonObject
from gateway.time_limits import look
from gateway.validation.field import FieldError, forbidden, invalid, path_to, required
from gateway.validation.go_regexp import regexp_problem

ROOT, ITEM, FIELD = "at the root", "for specified array items", "for specified object fields"
INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]
JUNCTORS = ("anyOf", "allOf", "oneOf")
# in the order in which kube-apiserver converts a schema
_UNSUPPORTED = {
    "id": "id",
    "$schema": "schema",
    "$ref": "$ref",
    "patternProperties": "patternProperties",
    "dependencies": "dependencies",
    "additionalItems": "additionalItems",
    "definitions": "definitions",
}
_EMPTY_NESTED = ("title", "description")
_UNDEFINED_EXTENSIONS = {
    "x-kubernetes-preserve-unknown-fields": "must be false to be structural",
    "x-kubernetes-embedded-resource": "must be false to be structural",
    "x-kubernetes-int-or-string": "must be false to be structural",
    "x-kubernetes-list-map-keys": "must be empty to be structural",
    "x-kubernetes-list-type": "must be undefined to be structural",
    "x-kubernetes-map-type": "must be undefined to be structural",
    "x-kubernetes-validations": "must be empty to be structural",
}


def children(schema: JsonObject) -> Iterator[JsonObject]:
    """Yields the schemas directly below a schema."""
    items = schema.get("items")
    yield from (items if isinstance(items, list) else [items] if items is not None else [])
    for key in ("allOf", "anyOf", "oneOf"):
        yield from schema.get(key) or ()
    if (negated := schema.get("not")) is not None:
        yield negated
    for key in ("properties", "patternProperties", "definitions"):
        yield from (schema.get(key) or {}).values()
    for key in ("additionalProperties", "additionalItems"):
        if isinstance(below := schema.get(key), dict):
            yield below
    for dependency in (schema.get("dependencies") or {}).values():
        if isinstance(dependency, dict):
            yield dependency


def every(schema: JsonObject) -> Iterator[JsonObject]:
    """Yields a schema and all schemas below it."""
    yield schema
    for child in children(schema):
        yield from every(child)


def unsupported(schema: JsonObject) -> str:
    """The first reason why a schema cannot be converted to a structural one; "" if there is none.

    Raises TakesLong on an event loop for a large schema.
    """
    look()
    for key, name in _UNSUPPORTED.items():
        if schema.get(key) or (key == "additionalItems" and key in schema):
            return f"OpenAPIV3Schema '{name}' is not supported"
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        return "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined"
    if isinstance(schema.get("items"), list):
        return "OpenAPIV3Schema 'items' must be a schema, but is an array"
    return next((reason for child in children(schema) if (reason := unsupported(child))), "")


def validate_structural(schema: JsonObject, path: str) -> list[FieldError]:
    """The errors that make a schema non-structural, sorted. Raises TakesLong on an event loop for a large schema."""
    found = _invariants(schema, ROOT, path)
    found += _value_completeness(schema, schema, path, path)
    return sorted(found, key=str)


def _invariants(schema: JsonObject, level: str, path: str) -> list[FieldError]:
    look()
    found, kind = list[FieldError](), schema.get("type", "")
    properties: JsonObject = schema.get("properties") or {}
    items, additional = schema.get("items"), schema.get("additionalProperties")
    if items is not None:
        found += _invariants(items, ITEM, f"{path}.items")
    elif kind == "array":
        found.append(required(f"{path}.items", "must be specified"))
    for name, below in properties.items():
        found += _invariants(below, FIELD, path_to(path, f".properties[{name}]"))
    if additional is not None:
        if level is ROOT:
            found.append(forbidden(f"{path}.additionalProperties", "must not be used at the root"))
        if isinstance(additional, dict):
            found += _invariants(additional, FIELD, f"{path}.additionalProperties")
    found += _extensions(schema, path)
    first = (schema.get("allOf") or [{}])[0].get("anyOf")
    skip, skip_first = _is_int_or_string(schema.get("anyOf")), _is_int_or_string(first)
    found += _value_validation(schema, path, skip_any=skip, skip_first_any=skip_first)
    return found + _type(schema, level, path) + _metadata(schema, properties, level, path)


def _is_int_or_string(choice: list[JsonObject] | None) -> bool:
    """Whether `anyOf` is the one that x-kubernetes-int-or-string allows. Ignores boolean additionalProperties."""
    return [
        {key: value for key, value in each.items() if key != "additionalProperties" or isinstance(value, dict)}
        for each in choice or ()
    ] == INT_OR_STRING


def _extensions(schema: JsonObject, path: str) -> list[FieldError]:
    if not schema.get("x-kubernetes-int-or-string"):
        return []
    return [
        invalid(f"{path}.{key}", True, "must be false if x-kubernetes-int-or-string is true")
        for key in ("x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource")
        if schema.get(key)
    ]


def _type(schema: JsonObject, level: str, path: str) -> list[FieldError]:
    found, kind = list[FieldError](), schema.get("type", "")
    embedded = schema.get("x-kubernetes-embedded-resource")
    free = schema.get("x-kubernetes-int-or-string") or schema.get("x-kubernetes-preserve-unknown-fields")
    if embedded and kind != "object":
        message = "must be object if x-kubernetes-embedded-resource is true"
        found.append(invalid(f"{path}.type", kind, message) if kind else required(f"{path}.type", message))
    elif not kind and not free:
        found.append(required(f"{path}.type", f"must not be empty {level}"))
    if embedded and "additionalProperties" in schema:
        message = "must not be used if x-kubernetes-embedded-resource is set"
        found.append(forbidden(f"{path}.additionalProperties", message))
    if level is ROOT and kind not in ("", "object"):
        found.append(invalid(f"{path}.type", kind, "must be object at the root"))
    return found


def _metadata(schema: JsonObject, properties: JsonObject, level: str, path: str) -> list[FieldError]:
    """Errors about kind, apiVersion and metadata, the members of every object."""
    found, embedded = list[FieldError](), schema.get("x-kubernetes-embedded-resource")
    checked = level is ROOT or bool(embedded)
    for name in ("kind", "apiVersion"):
        below = properties.get(name)
        if checked and below is not None and (kind := below.get("type", "")) != "string":
            found.append(invalid(f"{path}.properties[{name}].type", kind, "must be string"))
    if (metadata := properties.get("metadata")) is not None:
        where = f"{path}.properties[metadata]"
        if checked and (kind := metadata.get("type", "")) != "object":
            found.append(invalid(f"{where}.type", kind, "must be object"))
        names = set(metadata.get("properties") or ())
        rest = {key for key, value in metadata.items() if value or (value == 0 and value is not False)}
        rest |= metadata.keys() & {"additionalProperties"}
        rest -= {"type", "default"} if names - {"name", "generateName"} else {"type", "default", "properties"}
        if level is ROOT and rest:
            message = "must not specify anything other than name and generateName, but metadata is implicitly specified"
            found.append(forbidden(where, message))
    if embedded and not schema.get("x-kubernetes-preserve-unknown-fields") and not properties:
        message = "if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"
        found.append(required(f"{path}.properties", f"must not be empty {message}"))
    return found


def _value_validation(
    schema: JsonObject, path: str, *, skip_any: bool = False, skip_first_any: bool = False
) -> list[FieldError]:
    found = list[FieldError]()
    for key in JUNCTORS:
        if key == "anyOf" and skip_any:
            continue
        for i, nested in enumerate(schema.get(key) or ()):
            found += _nested(nested, f"{path}.{key}[{i}]", skip_any=key == "allOf" and skip_first_any and i == 0)
    if (negated := schema.get("not")) is not None:
        found += _nested(negated, f"{path}.not")
    if (pattern := schema.get("pattern")) and (problem := regexp_problem(pattern)):
        message = f"must be a valid regular expression, but isn't: {problem}"
        found.append(invalid(f"{path}.pattern", pattern, message))
    return found


def _nested(schema: JsonObject, path: str, *, skip_any: bool = False) -> list[FieldError]:
    """A schema under a logical junctor may only restrict values. Fields such as type and default are errors."""
    found = _value_validation(schema, path, skip_any=skip_any)
    if (items := schema.get("items")) is not None:
        found += _nested(items, f"{path}.items")
    for name, below in (schema.get("properties") or {}).items():
        found += _nested(below, path_to(path, f".properties[{name}]"))
    if schema.get("type"):
        found.append(forbidden(f"{path}.type", "must be empty to be structural"))
    if schema.get("additionalProperties", False) is not False:
        found.append(forbidden(f"{path}.additionalProperties", "must be undefined to be structural"))
    if "default" in schema:
        found.append(forbidden(f"{path}.default", "must be undefined to be structural"))
    found += [forbidden(f"{path}.{key}", "must be empty to be structural") for key in _EMPTY_NESTED if schema.get(key)]
    if schema.get("nullable"):
        found.append(forbidden(f"{path}.nullable", "must be false to be structural"))
    for key, message in _UNDEFINED_EXTENSIONS.items():
        if schema.get(key) or (message.startswith("must be undefined") and key in schema):
            found.append(forbidden(f"{path}.{key}", message))
    if "metadata" in (schema.get("properties") or ()):
        found.append(forbidden(f"{path}.properties[metadata]", "must not be specified in a nested context"))
    return found


def _value_completeness(
    schema: JsonObject, structure: JsonObject | None, structure_path: str, path: str
) -> list[FieldError]:
    """Errors about parts that `schema` mentions under junctors, but `structure` does not specify."""
    if structure is None:
        return [required(structure_path, f"because it is defined in {path}")]
    found = list[FieldError]()
    if (negated := schema.get("not")) is not None:
        found += _nested_completeness(negated, structure, structure_path, f"{path}.not")
    for key in ("allOf", "anyOf", "oneOf"):
        for i, nested in enumerate(schema.get(key) or ()):
            found += _nested_completeness(nested, structure, structure_path, f"{path}.{key}[{i}]")
    return found


def _nested_completeness(
    schema: JsonObject, structure: JsonObject | None, structure_path: str, path: str
) -> list[FieldError]:
    found = _value_completeness(schema, structure, structure_path, path)
    if structure is None:
        return found
    if (items := schema.get("items")) is not None:
        found += _nested_completeness(items, structure.get("items"), f"{structure_path}.items", f"{path}.items")
    for name, below in (schema.get("properties") or {}).items():
        where, there = path_to(path, f".properties[{name}]"), path_to(structure_path, f".properties[{name}]")
        if (counterpart := (structure.get("properties") or {}).get(name)) is None:
            found.append(required(there, f"because it is defined in {where}"))
        else:
            found += _nested_completeness(below, counterpart, there, where)
    return found
