"""ValidatingAdmissionPolicies, MutatingAdmissionPolicies and their bindings (KEP-3488, KEP-3962)."""

from __future__ import annotations

import re

from gateway.jsontypes import JsonObject
from gateway.validation.admission_rules import (
    FAILURE_POLICIES,
    unmutable_operations,
    validate_match_conditions,
    validate_match_resources,
    validate_param_kind,
    validate_param_ref,
)
from gateway.validation.checks import known, one_of, same, text
from gateway.validation.expressions import Expressions, NewExpressions, Use
from gateway.validation.field import FieldError, Verbatim, duplicate, first_places, invalid, not_supported, required
from gateway.validation.formats import validate_qualified_name
from gateway.validation.go_structs import verbatim
from gateway.validation.names import byte_length, is_dns1123_subdomain

MAX_AUDIT_ANNOTATIONS, MAX_AUDIT_EXPRESSION = 20, 5 * 1024
REASONS, ACTIONS = ("Forbidden", "Invalid", "RequestEntityTooLarge"), ("Audit", "Deny", "Warn")
PATCH_TYPES, REINVOCATION = ("ApplyConfiguration", "JSONPatch"), ("IfNeeded", "Never")
RESERVED = frozenset(
    [
        "true",
        "false",
        "null",
        "in",
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    ]
)
_USES = {"ApplyConfiguration": Use.APPLY_CONFIGURATION, "JSONPatch": Use.JSON_PATCH}
_is_identifier = re.compile("[_a-zA-Z][_a-zA-Z0-9]*").fullmatch
_NOTHING = "validations or auditAnnotations must contain at least one item"


class _Compilers:
    """The compilers for the expressions of one policy. `conditions` is without variables, for match conditions."""

    def __init__(self, spec: JsonObject, new: NewExpressions, composed: bool) -> None:
        params = "paramKind" in spec
        self.conditions, self.rest = new(params, False), new(params, composed)

    def check(self, expression: str, path: str, use: Use, shown: str = "") -> list[FieldError]:
        fault = self.rest.check(expression, use)
        return [] if fault is None else [fault.at(path, shown or expression)]


def _common(spec: JsonObject, before: JsonObject, expressions: _Compilers, *, mutating: bool) -> list[FieldError]:
    policy, match, found = spec.get("failurePolicy"), spec.get("matchConstraints"), list[FieldError]()
    found += (
        [required("spec.failurePolicy")] if policy is None else known("spec.failurePolicy", policy, FAILURE_POLICIES)
    )
    if (kind := spec.get("paramKind")) is not None:
        found += validate_param_kind(kind, "spec.paramKind")
    if match is None:
        found.append(required("spec.matchConstraints"))
    else:
        found += validate_match_resources(match, "spec.matchConstraints")
        if not match.get("resourceRules"):
            found.append(required("spec.matchConstraints.resourceRules"))
        if mutating:
            found += unmutable_operations(match, "spec.matchConstraints")
    conditions, old_conditions = (either.get("matchConditions") or [] for either in (spec, before))
    if not before or not same(spec.get("paramKind"), before.get("paramKind")) or not same(conditions, old_conditions):
        found += validate_match_conditions(conditions, "spec.matchConditions", expressions.conditions)
    for i, variable in enumerate(spec.get("variables") or ()):
        found += _variable(variable, f"spec.variables[{i}]", expressions.rest)
    return found


def _variable(variable: JsonObject, path: str, expressions: Expressions) -> list[FieldError]:
    name, expression, found = variable.get("name", ""), variable.get("expression", ""), list[FieldError]()
    if not name.strip():
        found.append(required(f"{path}.name", "name is not specified"))
    elif not _is_identifier(name) or name in RESERVED:
        found.append(invalid(f"{path}.name", name, "must be a valid CEL identifier"))
    if not expression.strip():
        found.append(required(f"{path}.expression", "expression is not specified"))
    elif (fault := expressions.define(name, expression)) is not None:
        found.append(fault.at(f"{path}.expression", expression))
    return found


def validate_validating_policy(policy: JsonObject, old: JsonObject | None, new: NewExpressions) -> list[FieldError]:
    spec, before = policy.get("spec", {}), (old or {}).get("spec", {})
    expressions = _Compilers(spec, new, composed=bool(spec.get("variables")))
    found = _common(spec, before, expressions, mutating=False)
    validations, annotations = spec.get("validations") or [], spec.get("auditAnnotations") or []
    if not validations and not annotations:
        return [*found, required("spec.validations", _NOTHING), required("spec.auditAnnotations", _NOTHING)]
    for i, validation in enumerate(validations):
        found += _validation(validation, f"spec.validations[{i}]", expressions)
    if len(annotations) > MAX_AUDIT_ANNOTATIONS:
        message = f"must not have more than {MAX_AUDIT_ANNOTATIONS} auditAnnotations"
        shown = [verbatim("io.k8s.api.admissionregistration.v1.AuditAnnotation", each) for each in annotations]
        found.append(invalid("spec.auditAnnotations", Verbatim(f"[{','.join(shown)}]"), message))
    keys: set[str] = set()
    for i, annotation in enumerate(annotations):
        path, key = f"spec.auditAnnotations[{i}]", annotation.get("key", "")
        found += _audit_annotation(policy, annotation, path, expressions)
        if key in keys:
            found.append(duplicate(f"{path}.key", key))
        keys.add(key)
    return found


def _validation(validation: JsonObject, path: str, expressions: _Compilers) -> list[FieldError]:
    found, not_empty = list[FieldError](), "must be non-empty if specified"
    expression, message_expression = validation.get("expression", ""), validation.get("messageExpression", "")
    if not expression.strip():
        found.append(required(f"{path}.expression", "expression is not specified"))
    else:
        found += expressions.check(expression, f"{path}.expression", Use.CONDITION)
    if message_expression.strip():
        found += expressions.check(message_expression, f"{path}.messageExpression", Use.MESSAGE)
    elif message_expression:
        found.append(invalid(f"{path}.messageExpression", message_expression, not_empty))
    message = validation.get("message", "")
    if message and not message.strip():
        found.append(invalid(f"{path}.message", message, not_empty))
    elif re.search(r"[\n\r]", message.strip()):
        found.append(invalid(f"{path}.message", message, "must not contain line breaks"))
    if (reason := validation.get("reason")) is not None:
        found += known(f"{path}.reason", reason, REASONS)
    return found


def _audit_annotation(
    policy: JsonObject, annotation: JsonObject, path: str, expressions: _Compilers
) -> list[FieldError]:
    name, key, found = policy["metadata"].get("name", ""), annotation.get("key", ""), list[FieldError]()
    if name:
        found += validate_qualified_name(f"{path}.key", f"{name}/{key}")
    else:
        found.append(invalid(f"{path}.key", key, "requires metadata.name be non-empty"))
    given, at = annotation.get("valueExpression", ""), f"{path}.valueExpression"
    expression = given.strip()
    if not expression:
        found.append(required(at, "valueExpression is not specified"))
    elif byte_length(expression) > MAX_AUDIT_EXPRESSION:
        found.append(required(at, f"must not exceed {MAX_AUDIT_EXPRESSION} bytes in length"))
    else:
        found += expressions.check(expression, at, Use.AUDIT_ANNOTATION, given)
    return found


def validate_mutating_policy(policy: JsonObject, old: JsonObject | None, new: NewExpressions) -> list[FieldError]:
    spec, before = policy.get("spec", {}), (old or {}).get("spec", {})
    expressions = _Compilers(spec, new, composed=True)
    found = _common(spec, before, expressions, mutating=True)
    mutations = spec.get("mutations") or []
    if not mutations:
        found.append(required("spec.mutations", "mutations must contain at least one item"))
    for i, mutation in enumerate(mutations):
        found += _mutation(mutation, f"spec.mutations[{i}]", expressions)
    return found + one_of("spec.reinvocationPolicy", spec.get("reinvocationPolicy"), REINVOCATION)


def _mutation(mutation: JsonObject, path: str, expressions: _Compilers) -> list[FieldError]:
    kind = mutation.get("patchType")
    if not kind:
        return [required(f"{path}.patchType")]
    if kind not in PATCH_TYPES:
        return [not_supported(f"{path}.patchType", kind, PATCH_TYPES)]
    key, other = ("jsonPatch", "applyConfiguration")[:: 1 if kind == "JSONPatch" else -1]
    found, patch = list[FieldError](), mutation.get(key)
    if patch is None:
        found.append(required(f"{path}.{key}", f"must be specified when patchType is {kind}"))
    elif not (expression := patch.get("expression", "").strip()):
        found.append(required(f"{path}.{key}.expression"))
    else:
        found += expressions.check(expression, f"{path}.{key}.expression", _USES[kind])
    if other in mutation:
        message = f"must not be specified when patchType is {kind}"
        found.append(invalid(f"{path}.{other}", f"{{{other}}}", message))
    return found


def validate_policy_binding(binding: JsonObject, *, mutating: bool) -> list[FieldError]:
    spec = binding.get("spec", {})
    found = text("spec.policyName", spec.get("policyName"), is_dns1123_subdomain)
    found += validate_param_ref(spec.get("paramRef"), "spec.paramRef")
    found += validate_match_resources(spec.get("matchResources"), "spec.matchResources")
    if mutating:
        return found + unmutable_operations(spec.get("matchResources"), "spec.matchResources")
    actions, path = spec.get("validationActions") or [], "spec.validationActions"
    first = first_places(actions)
    for i, action in enumerate(actions):
        found += known(f"{path}[{i}]", action, ACTIONS)
        if first[action] < i:
            found.append(duplicate(f"{path}[{i}]", action))
    if "Deny" in actions and "Warn" in actions:
        message = (
            "must not contain both Deny and Warn (repeating the same validation failure information in the API "
            "response and headers serves no purpose)"
        )
        found.append(invalid(path, actions, message))
    return found if actions else [*found, required(path, "at least one validation action is required")]
