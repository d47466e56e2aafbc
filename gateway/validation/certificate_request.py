"""CertificateSigningRequests: request, usages, signer, conditions, certificate."""

from __future__ import annotations

import base64

from gateway.jsontypes import JsonObject
from gateway.validation.certificate_pem import certificates_problem, request_problem
from gateway.validation.field import FieldError, duplicate, first_places, invalid, not_supported, required
from gateway.validation.signers import validate_signer_name

LEGACY_SIGNER, MIN_SECONDS = "kubernetes.io/legacy-unknown", 600
USAGES = (
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
)
_ALWAYS_TRUE = ("Approved", "Denied", "Failed")


def validate_certificate_request(request: JsonObject, old: JsonObject | None) -> list[FieldError]:
    """The errors of everything but metadata. An update may keep some faults that `old` has already."""
    spec, before = request.get("spec", {}), (old or {}).get("spec", {})
    found, encoded = list[FieldError](), spec.get("request") or ""
    if problem := request_problem(base64.b64decode(encoded)):
        found.append(invalid("spec.request", spec.get("request"), problem))
    usages, old_usages = spec.get("usages") or [], before.get("usages") or []
    if not usages:
        found.append(required("spec.usages"))
    if all(usage in USAGES for usage in old_usages):
        unknown = [(i, usage) for i, usage in enumerate(usages) if usage not in USAGES]
        found += [not_supported(f"spec.usages[{i}]", usage, USAGES) for i, usage in unknown]
    if len(set(old_usages)) == len(old_usages):
        first = first_places(usages)
        found += [duplicate(f"spec.usages[{i}]", usage) for i, usage in enumerate(usages) if first[usage] < i]
    signer = spec.get("signerName", "")
    if signer == LEGACY_SIGNER and before.get("signerName") != LEGACY_SIGNER:
        found.append(invalid("spec.signerName", signer, "the legacy signerName is not allowed via this API version"))
    else:
        found += validate_signer_name(signer, "spec.signerName")
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < MIN_SECONDS:
        message = "may not specify a duration less than 600 seconds (10 minutes)"
        found.append(invalid("spec.expirationSeconds", seconds, message))
    found += _conditions(conditions_of(request), conditions_of(old or {}))
    return found + _certificate(request, old)


def conditions_of(request: JsonObject) -> list[JsonObject]:
    conditions: list[JsonObject] = (request.get("status") or {}).get("conditions") or []
    return conditions


def _conditions(conditions: list[JsonObject], before: list[JsonObject]) -> list[FieldError]:
    old_types = {condition.get("type", "") for condition in before}
    any_pair, any_twice = {"Approved", "Denied"} <= old_types, len(old_types) < len(before)
    found, seen = list[FieldError](), set[str]()
    for i, condition in enumerate(conditions):
        path, kind, status = f"status.conditions[{i}]", condition.get("type", ""), condition.get("status", "")
        if not kind and "" not in old_types:
            found.append(required(f"{path}.type"))
        allowed = ("True",) if kind in _ALWAYS_TRUE else ("False", "True", "Unknown")
        if not status:
            found.append(required(f"{path}.status"))
        elif status not in allowed:
            found.append(not_supported(f"{path}.status", status, allowed))
        other = {"Approved": "Denied", "Denied": "Approved"}.get(kind)
        if not any_pair and other in seen:
            found.append(invalid("status.conditions", kind, "Approved and Denied conditions are mutually exclusive"))
        if kind in seen and not any_twice:
            found.append(duplicate(f"{path}.type", kind))
        seen.add(kind)
    return found


def certificate_of(request: JsonObject) -> str:
    certificate: str = (request.get("status") or {}).get("certificate") or ""
    return certificate


def _certificate(request: JsonObject, old: JsonObject | None) -> list[FieldError]:
    new, before = certificate_of(request), certificate_of(old or {})
    if old is not None and (new == before or certificates_problem(base64.b64decode(before))):
        return []
    problem = certificates_problem(base64.b64decode(new))
    return [invalid("status.certificate", "<certificate data>", problem)] if problem else []
