"""The schema of a CustomResourceDefinition: the parts of OpenAPI v3 that it may use, and its list and map types.

Source: pages "Extend the Kubernetes API with CustomResourceDefinitions" and "Custom Resource Definition Versioning".
This module checks the form of validation rules. A CEL compiler, which the caller passes in, checks their expressions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from gateway.jsontypes import JsonObject
from gateway.schema.catalog import type_of
from gateway.validation.field import FieldError, forbidden, invalid, not_supported, path_to, required
from gateway.validation.go_structs import verbatim
from gateway.validation.list_types import validate_list_types
from gateway.validation.schema_defaults import EvaluateRules, validate_defaults
from gateway.validation.schema_paths import FieldPathError, follow
from gateway.validation.structural_schema import unsupported, validate_structural

SCHEMA_TYPE = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
TYPES = ("array", "boolean", "integer", "number", "object", "string")
REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
META_FIELDS = ("metadata", "kind", "apiVersion")
# with the status subresource, the Go names of fields that the root schema may have
_BESIDE_STATUS = (
    "Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern "
    "MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields "
    "XValidations"
)


@dataclass(frozen=True, slots=True)
class _Place:
    """The place of a subschema in the whole schema."""

    root: bool = False
    in_metadata: bool = False
    no_defaults: str = ""  # why defaults are forbidden here, as messages say it; "" if they are allowed


@dataclass(frozen=True, slots=True)
class RuleChecks:
    """The checks of validation rules that a compiler of expressions provides."""

    # takes a structural schema, its path and the errors found so far; returns the errors of its rules
    definition: Callable[[JsonObject, str, list[FieldError]], list[FieldError]]
    default: EvaluateRules


NO_RULES = RuleChecks(lambda schema, path, found: [], lambda schema, is_object, value, path: [])
"""Accepts all rules."""


def validate_schema(schema: JsonObject, path: str, status: bool, rules: RuleChecks = NO_RULES) -> list[FieldError]:
    """The errors of one version's schema. `status`: the version has the status subresource."""
    found = _root(schema, path) if status else []
    if schema.get("nullable"):
        found.append(forbidden(f"{path}.nullable", "nullable cannot be true at the root"))
    reason, structural = unsupported(schema), False
    if not reason:
        problems = validate_structural(schema, path) or validate_defaults(schema, path, rules.default)
        structural = not problems
        found += problems
    problems = _validate(schema, path, _Place(root=True))
    found += problems
    if structural:
        found += rules.definition(schema, path, problems)
    return [invalid(path, "", reason)] if reason and not found else found


def _root(schema: JsonObject, path: str) -> list[FieldError]:
    if (kind := schema.get("type")) and kind != "object":
        message = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
        return [invalid(f"{path}.type", kind, message)]
    names = {key: field.go_name for key, field in type_of(SCHEMA_TYPE).fields.items()}
    if all(names.get(key, key) in _BESIDE_STATUS.split() for key, value in schema.items() if _given(value)):
        return []
    message = (
        f"only [{_BESIDE_STATUS}] fields are allowed at the root of the schema if the status subresource is enabled"
    )
    return [invalid(path, verbatim(SCHEMA_TYPE, schema), message)]


def _given(value: Any) -> bool:
    return value not in (None, False, "") or (value == 0 and value is not False)


def _validate(schema: JsonObject, path: str, place: _Place) -> list[FieldError]:
    found = _standard(schema, path, place)
    if schema.get("uniqueItems"):
        message = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        found.append(forbidden(f"{path}.uniqueItems", message))
    found += _members(schema, path, place)
    inner = replace(place, root=False)
    if (negated := schema.get("not")) is not None:
        found += _validate(negated, f"{path}.not", inner)
    for key in ("allOf", "oneOf", "anyOf"):
        for i, below in enumerate(schema.get(key) or ()):
            found += _validate(below, f"{path}.{key}[{i}]", inner)
    for name, below in (schema.get("definitions") or {}).items():
        found += _validate(below, f"{path}.definitions[{name}]", inner)
    items = schema.get("items")
    if isinstance(items, dict):
        found += _validate(items, f"{path}.items", inner)
    else:
        for i, below in enumerate(items or ()):
            found += _validate(below, f"{path}.items[{i}]", inner)
    for name, below in (schema.get("dependencies") or {}).items():
        if isinstance(below, dict):
            found += _validate(below, f"{path}.dependencies[{name}]", inner)
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        found.append(invalid(f"{path}.x-kubernetes-preserve-unknown-fields", False, "must be true or undefined"))
    return found + validate_list_types(schema, path) + _rules(schema, path)


def _standard(schema: JsonObject, path: str, place: _Place) -> list[FieldError]:
    """Errors about parts of OpenAPI v3 that custom resource definitions do not support."""
    found, kind = list[FieldError](), schema.get("type", "")
    if kind and kind not in TYPES:
        found.append(not_supported(f"{path}.type", kind, TYPES))
    if "default" in schema and place.no_defaults:
        found.append(forbidden(f"{path}.default", f"must not be set {place.no_defaults}"))
    if schema.get("id"):
        found.append(forbidden(f"{path}.id", "id is not supported"))
    for key, given in (
        ("additionalItems", "additionalItems" in schema),
        ("patternProperties", bool(schema.get("patternProperties"))),
        ("definitions", bool(schema.get("definitions"))),
        ("dependencies", "dependencies" in schema),
        ("$ref", "$ref" in schema),
    ):
        if given:
            found.append(forbidden(f"{path}.{key}", f"{key} is not supported"))
    if kind == "null":
        found.append(forbidden(f"{path}.type", "type cannot be set to null, use nullable as an alternative"))
    if isinstance(schema.get("items"), list) and schema["items"]:
        found.append(forbidden(f"{path}.items", "items must be a schema object and not an array"))
    if place.in_metadata and schema.get("x-kubernetes-embedded-resource"):
        found.append(forbidden(f"{path}.x-kubernetes-embedded-resource", "must not be used inside of resource meta"))
    return found


def _members(schema: JsonObject, path: str, place: _Place) -> list[FieldError]:
    """The errors of the schemas of an object's members: properties and additionalProperties."""
    found, inner = list[FieldError](), replace(place, root=False)
    additional, properties = schema.get("additionalProperties"), schema.get("properties") or {}
    if properties and additional is not None and additional is not True:
        message = "additionalProperties and properties are mutual exclusive"
        found.append(forbidden(f"{path}.additionalProperties", message))
    if isinstance(additional, dict):
        reason = "inside additionalProperties applying to object metadata"
        below = replace(inner, no_defaults=reason) if place.in_metadata else inner
        found += _validate(additional, f"{path}.additionalProperties", below)
    for name, member in properties.items():
        below = inner
        if name in META_FIELDS and (place.root or schema.get("x-kubernetes-embedded-resource")):
            below = replace(inner, in_metadata=True)
            if place.root:
                below = replace(below, no_defaults=f"in top-level {name}")
        found += _validate(member, path_to(path, f".properties[{name}]"), below)
    return found


def _rules(schema: JsonObject, path: str) -> list[FieldError]:
    found = list[FieldError]()
    for i, rule in enumerate(schema.get("x-kubernetes-validations") or ()):
        found += _rule(rule, schema, f"{path}.x-kubernetes-validations[{i}]")
    return found


def _has_line_break(text: str) -> bool:
    return "\n" in text or "\r" in text


def _rule(rule: JsonObject, schema: JsonObject, path: str) -> list[FieldError]:
    found = list[FieldError]()
    text, message, target = rule.get("rule", ""), rule.get("message", ""), rule.get("fieldPath", "")
    if not text.strip():
        found.append(required(f"{path}.rule", "rule is not specified"))
    elif message and not message.strip():
        found.append(invalid(f"{path}.message", message, "must be non-empty if specified"))
    elif _has_line_break(message.strip()):
        found.append(invalid(f"{path}.message", message, "must not contain line breaks"))
    elif _has_line_break(text.strip()) and not message:
        found.append(required(f"{path}.message", "message must be specified if rule contains line breaks"))
    if (expression := rule.get("messageExpression")) and not expression.strip():
        found.append(required(f"{path}.messageExpression", "messageExpression must be non-empty if specified"))
    if (reason := rule.get("reason")) is not None and reason not in REASONS:
        found.append(not_supported(f"{path}.reason", reason, REASONS))
    if target and not target.strip():
        found.append(invalid(f"{path}.fieldPath", target, "must be non-empty if specified"))
    if _has_line_break(target):
        found.append(invalid(f"{path}.fieldPath", target, "must not contain line breaks"))
    if target and not unsupported(schema):
        try:
            follow(target, schema)
        except FieldPathError:
            found.append(invalid(f"{path}.fieldPath", target, "must be a valid path"))
    return found
