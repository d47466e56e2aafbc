"""What a TokenRequest attests, for a token that is bound to a webhook (KEP-6060, which is off)."""

from __future__ import annotations

from typing import Any

from gateway.jsontypes import JsonObject
from gateway.validation.field import FieldError, invalid, not_supported
from gateway.validation.internal_form import go_json
from gateway.validation.names import is_dns1123_subdomain

_GROUPS = "admissionReviewAPIGroups"
_KINDS = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
_PATH = "spec.attestations"


def is_webhook(reference: JsonObject | None) -> bool:
    """Whether a boundObjectRef names a configuration of webhooks."""
    found = reference or {}
    return found.get("kind") in _KINDS and found.get("apiVersion") == "admissionregistration.k8s.io/v1"


def judged_with_attestations(spec: JsonObject, errors: list[FieldError]) -> list[FieldError]:
    """All errors of a TokenRequest's spec; `errors` are those of its other rules.

    Source: ValidateTokenRequest in k8s.io/kubernetes/pkg/apis/authentication/validation.
    """
    attestations, audiences = spec.get("attestations") or {}, spec.get("audiences") or []
    shown = go_json({key: attestations[key] for key in sorted(attestations)} or None)
    if not is_webhook(spec.get("boundObjectRef")):
        text = "attestations may only be specified with a webhook bound object reference"
        return [invalid(_PATH, shown, text)] if attestations else errors
    found = list(errors)
    if len(audiences) != 1:
        found.append(invalid("spec.audiences", go_json(audiences), "must be length 1 when bound to a webhook config"))
    if len(attestations) != 1:
        text = "webhook bound requests require exactly one admissionReviewAPIGroups attestation"
        return [*found, invalid(_PATH, shown, text)]
    ((key, values),) = attestations.items()
    return found + _attestation(key, values or [], f"{_PATH}[{key}]")


def _attestation(key: str, values: list[Any], path: str) -> list[FieldError]:
    if key != _GROUPS:
        return [not_supported(path, key, (_GROUPS,))]
    if len(values) != 1:
        return [invalid(path, go_json(values), "must specify a single value")]
    group = values[0]
    if not group:
        return [invalid(f"{path}[0]", group, "may not be an empty string")]
    wrong = [] if group == "*" else is_dns1123_subdomain(group)
    return [invalid(f"{path}[0]", group, f"must specify a valid API Group: {message}") for message in wrong]
