"""CertificateSigningRequests: a create records the user; approval and signing are subresources."""

from __future__ import annotations

from copy import deepcopy

from gateway.jsontypes import JsonObject
from gateway.kinds.issued_certificates import count_issued
from gateway.kinds.strategies.status import keep_spec, keep_status
from gateway.kinds.strategy import Strategy
from gateway.kinds.write_context import WriteContext
from gateway.validation.certificate_request import certificate_of, conditions_of, validate_certificate_request
from gateway.validation.checks import same
from gateway.validation.field import FieldError, forbidden
from gateway.validation.names import name_is_path_segment
from gateway.validation.objectmeta import validate_object_meta

_CONDITIONS = "status.conditions"


def _prepare_for_create(obj: JsonObject, context: WriteContext) -> None:
    spec = obj["spec"]
    user = context.user
    asks: JsonObject = {"username": user.name, "uid": user.uid, "groups": list(user.groups)}
    asks["extra"] = {key: list(values) for key, values in user.extra}
    for key, value in asks.items():
        spec.pop(key, None)
        if value:
            spec[key] = value
    obj["status"] = {}


def _prepare_for_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> None:
    keep_spec(obj, old, context)
    keep_status(obj, old, context)


def _fill_times(obj: JsonObject, old: JsonObject, now: str) -> None:
    times: dict[tuple[str, str], str] = {}
    for before in conditions_of(old):
        if before.get("lastTransitionTime"):
            times.setdefault(_kind(before), before["lastTransitionTime"])
    for condition in conditions_of(obj):
        condition["lastUpdateTime"] = condition.get("lastUpdateTime") or now
        if not condition.get("lastTransitionTime"):
            condition["lastTransitionTime"] = times.get(_kind(condition), now)


def _kind(condition: JsonObject) -> tuple[str, str]:
    return condition.get("type", ""), condition.get("status", "")


def _prepare_status(obj: JsonObject, old: JsonObject, context: WriteContext) -> None:
    keep_spec(obj, old, context)
    obj.setdefault("status", {})
    for kind in ("Approved", "Denied"):
        new, before = _of_type(obj, kind), _of_type(old, kind)
        if len(new) == len(before):
            for condition, kept in zip(new, before, strict=True):
                condition.clear()
                condition.update(deepcopy(kept))
    _fill_times(obj, old, context.now)


def _prepare_approval(obj: JsonObject, old: JsonObject, context: WriteContext) -> None:
    _fill_times(obj, old, context.now)
    conditions = conditions_of(obj)
    keep_spec(obj, old, context)
    keep_status(obj, old, context)
    status = obj.setdefault("status", {})
    status.pop("conditions", None)
    if conditions:
        status["conditions"] = conditions


def _of_type(obj: JsonObject, kind: str) -> list[JsonObject]:
    return [condition for condition in conditions_of(obj) if condition.get("type") == kind]


def _validate(obj: JsonObject, context: WriteContext) -> list[FieldError]:
    return validate_certificate_request(obj, None)


def _updated(
    obj: JsonObject, old: JsonObject, *, approval: bool = False, certificate: bool = False
) -> list[FieldError]:
    found = validate_object_meta(obj["metadata"], False, name_is_path_segment) + validate_certificate_request(obj, old)
    for kind in ("Approved", "Denied", "Failed"):
        if len(_of_type(obj, kind)) < len(_of_type(old, kind)):
            found.append(forbidden(_CONDITIONS, f'updates may not remove a condition of type "{kind}"'))
    for kind in () if approval else ("Approved", "Denied"):
        new, before = _of_type(obj, kind), _of_type(old, kind)
        if len(new) > len(before):
            found.append(forbidden(_CONDITIONS, f'updates may not add a condition of type "{kind}"'))
        elif len(new) == len(before) and not same(new, before):
            found.append(forbidden(_CONDITIONS, f'updates may not modify a condition of type "{kind}"'))
    if certificate_of(obj) != certificate_of(old):
        if not certificate:
            found.append(forbidden("status.certificate", "updates may not set certificate content"))
        elif certificate_of(old):
            found.append(forbidden("status.certificate", "updates may not modify existing certificate content"))
    return found


def _validate_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    return _updated(obj, old)


def _validate_status(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    return _updated(obj, old, certificate=True)


def _validate_approval(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    return _updated(obj, old, approval=True)


STRATEGIES = {
    "": Strategy(
        prepare_for_create=_prepare_for_create,
        prepare_for_update=_prepare_for_update,
        validate=_validate,
        validate_update=_validate_update,
        validate_name=name_is_path_segment,
        reset_fields=(("spec",), ("status",)),
    ),
    "status": Strategy(
        prepare_for_update=_prepare_status,
        validate_update=_validate_status,
        on_updated=count_issued,
        reset_fields=(("spec",), ("status", "conditions")),
    ),
    "approval": Strategy(
        prepare_for_update=_prepare_approval,
        validate_update=_validate_approval,
        reset_fields=(("spec",), ("status", "certificate")),
    ),
}
