"""PodCertificateRequests: a kubelet requests a certificate for a pod, and a signer answers once (KEP-4317)."""

from __future__ import annotations

from gateway.jsontypes import JsonObject, by_name, go_dumps
from gateway.kinds.strategies.status import empty_status, keep_spec_and_metadata, keep_status
from gateway.kinds.strategy import Strategy
from gateway.kinds.write_context import WriteContext
from gateway.validation.checks import same
from gateway.validation.conditions import validate_conditions
from gateway.validation.field import FieldError, Verbatim, invalid, not_supported, valueless
from gateway.validation.objectmeta import IMMUTABLE
from gateway.validation.pod_certificate import validate_issued, validate_request

ENDS = ("Issued", "Denied", "Failed")
_CONDITIONS = "status.conditions"
_SHOWN = (
    *("signerName", "podName", "podUID", "serviceAccountName", "serviceAccountUID", "nodeName", "nodeUID"),
    *("maxExpirationSeconds", "PKIXPublicKey", "proofOfPossession", "stubPKCS10Request", "unverifiedUserAnnotations"),
)
_WITHOUT_NULL = 7  # the first fields of _SHOWN, whose zero value is "" and not null


def _spec(obj: JsonObject) -> JsonObject:
    spec: JsonObject = obj.get("spec") or {}
    return spec


def _status(obj: JsonObject) -> JsonObject:
    status: JsonObject = obj.get("status") or {}
    return status


def _shown(spec: JsonObject) -> Verbatim:
    """A spec as the JSON of its Go struct."""
    values = {
        key[0].upper() + key[1:]: spec.get(key, "") if i < _WITHOUT_NULL else spec.get(key)
        for i, key in enumerate(_SHOWN)
    }
    if annotations := values["UnverifiedUserAnnotations"]:
        values["UnverifiedUserAnnotations"] = by_name(annotations)
    return Verbatim(go_dumps(values))


def _validate(obj: JsonObject, context: WriteContext) -> list[FieldError]:
    return validate_request(_spec(obj))


def _validate_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    spec, before = _spec(obj), _spec(old)
    return [] if same(spec, before) else [invalid("spec", _shown(spec), IMMUTABLE)]


def _end(obj: JsonObject) -> str:
    """The outcome of a request: "Issued", "Denied" or "Failed"; "" while it is pending."""
    for each in _status(obj).get("conditions") or ():
        if each.get("type") in ENDS and each.get("status") == "True":
            return str(each["type"])
    return ""


def _conditions(conditions: list[JsonObject]) -> list[FieldError]:
    """The errors of conditions: at most one of a known type, and its status is True."""
    found, ends = list[FieldError](), 0
    for i, each in enumerate(conditions):
        kind, status, path = each.get("type", ""), each.get("status", ""), f"{_CONDITIONS}.[{i}]"
        if kind not in ENDS:
            found.append(not_supported(f"{path}.type", kind, ENDS))
            continue
        ends += 1
        if ends > 1:
            text = 'There may be at most one condition with type "Issued", "Denied", or "Failed"'
            found.append(invalid(f"{path}.type", kind, text))
        if status != "True":
            found.append(not_supported(f"{path}.status", status, ("True",)))
    return found + validate_conditions(conditions, _CONDITIONS)


def _validate_status(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    if context.metadata_errors:
        return []
    status, before = _status(obj), _status(old)
    if found := _conditions(status.get("conditions") or []):
        return found
    if _end(old):
        text = "immutable after PodCertificateRequest is issued, denied, or failed"
        return [] if same(status, before) else [valueless("status", text)]
    match _end(obj):
        case "Denied" | "Failed":
            text = "non-condition status fields must be empty when denying or failing the PodCertificateRequest"
            return [] if same(status, {"conditions": status["conditions"]}) else [valueless("status", text)]
        case "Issued":
            return validate_issued(status, _spec(old), context.now)
    text = 'status is immutable unless transitioning to "Issued", "Denied", or "Failed"'
    return [] if same(status, before) else [valueless("status", text)]


STRATEGIES = {
    "": Strategy(
        prepare_for_create=empty_status({}),
        prepare_for_update=keep_status,
        validate=_validate,
        validate_update=_validate_update,
        reset_fields=(("status",),),
        allow_unconditional_update=False,
    ),
    "status": Strategy(
        prepare_for_update=keep_spec_and_metadata,
        validate_update=_validate_status,
        reset_fields=(("metadata",), ("spec",)),
        allow_unconditional_update=False,
        signs=True,
    ),
}
