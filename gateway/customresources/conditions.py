"""Computes the status of a CustomResourceDefinition: its accepted names and its conditions."""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from hashlib import sha256

from gateway.customresources.definition import APPROVED, ESTABLISHED, NAMES_ACCEPTED, NON_STRUCTURAL, condition, is_true
from gateway.customresources.names import AcceptedNames, claim
from gateway.jsontypes import JsonObject, dumps
from gateway.memo import Recent
from gateway.validation.custom_resource_definition import approval, conversion_bundle_problem
from gateway.validation.structural_schema import unsupported, validate_structural

_APPROVAL_REASONS = {
    "invalid": ("False", "InvalidAnnotation"),
    "missing": ("False", "MissingAnnotation"),
    "approved": ("True", "ApprovedAnnotation"),
    "bypassed": ("False", "UnapprovedAnnotation"),
}


def with_status(definition: JsonObject, others: Iterable[JsonObject], now: str) -> JsonObject:
    """A copy of a CRD with the right status among the `others` of its group; the CRD itself if its status is right.

    `now` is the RFC 3339 time for changed conditions.
    """
    new = {**definition, "status": deepcopy(definition.get("status") or {})}
    if is_true(new, ESTABLISHED) or not definition["metadata"].get("deletionTimestamp"):
        if definition["spec"]["names"] != new["status"].get("acceptedNames") or condition(new, NAMES_ACCEPTED) is None:
            _name(new, claim(definition, others), now)
        if is_true(new, NAMES_ACCEPTED) and not is_true(new, ESTABLISHED):
            set_condition(new, _established(definition), now)
    _structure(new, now)
    _approval(new, now)
    return definition if new["status"] == definition.get("status") else new


def _established(definition: JsonObject) -> JsonObject:
    """The condition Established of a CRD whose names are accepted. A conversion webhook must have a valid caBundle."""
    if conversion_bundle_problem(definition):
        return _condition(ESTABLISHED, "False", "InvalidCABundle", "The conversion webhook CABundle is invalid")
    return _condition(ESTABLISHED, "True", "InitialNamesAccepted", "the initial names have been accepted")


def _condition(type_: str, status: str, reason: str, message: str) -> JsonObject:
    return {"type": type_, "status": status, "reason": reason, "message": message}


def set_condition(definition: JsonObject, wanted: JsonObject, now: str) -> None:
    """Sets a condition in place. lastTransitionTime changes only with the condition's status."""
    status = definition["status"]
    conditions = status["conditions"] = [dict(one) for one in status.get("conditions") or ()]
    for one in conditions:
        if one["type"] == wanted["type"]:
            if one["status"] != wanted["status"]:
                one["lastTransitionTime"] = now
            one |= wanted
            return
    conditions.append({"type": wanted["type"], "status": wanted["status"], "lastTransitionTime": now, **wanted})


def _name(definition: JsonObject, found: AcceptedNames, now: str) -> None:
    definition["status"]["acceptedNames"] = {"plural": "", "kind": "", **found.accepted}
    if found.reason:
        set_condition(definition, _condition(NAMES_ACCEPTED, "False", found.reason, found.message), now)
        if condition(definition, ESTABLISHED) is None:
            refused = "not all names are accepted"
            set_condition(definition, _condition(ESTABLISHED, "False", "NotAccepted", refused), now)
    else:
        set_condition(definition, _condition(NAMES_ACCEPTED, "True", "NoConflicts", "no conflicts found"), now)


def _structure(definition: JsonObject, now: str) -> None:
    """Sets or removes the condition NonStructuralSchema. CRDs of v1beta1 may have schemas that are not structural."""
    found = _violations(definition["spec"])
    if not found:
        status = definition["status"]
        left = [one for one in status.get("conditions") or () if one["type"] != NON_STRUCTURAL]
        if len(left) != len(status.get("conditions") or ()):
            status["conditions"] = left
        return
    text = found[0] if len(found) == 1 else f"[{', '.join(found)}]"
    set_condition(definition, _condition(NON_STRUCTURAL, "True", "Violations", text), now)


_structural: Recent[bytes, bool] = Recent(4096, 1 << 20)
"""Digests of schemas without violations: each status of a CRD is computed several times, in many control planes."""


def _violations(spec: JsonObject) -> list[str]:
    found = []
    if spec.get("preserveUnknownFields"):
        found.append("spec.preserveUnknownFields: Invalid value: true: must be false")
    for i, version in enumerate(spec.get("versions") or ()):
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        if schema is None:
            continue
        digest = sha256(dumps(schema)).digest()
        if _structural.find(digest):
            continue
        path = f"spec.versions[{i}].schema.openAPIV3Schema"
        violations = [] if unsupported(schema) else [str(error) for error in validate_structural(schema, path)]
        if not violations:
            _structural.keep(digest, True, len(digest))
        found += violations
    return list(dict.fromkeys(found))


def _approval(definition: JsonObject, now: str) -> None:
    state, text = approval(definition)
    if state:
        status, reason = _APPROVAL_REASONS[state]
        set_condition(definition, _condition(APPROVED, status, reason, text), now)
