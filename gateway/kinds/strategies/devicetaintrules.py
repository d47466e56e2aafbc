"""DeviceTaintRules: taints that an administrator adds to devices, in addition to the driver's (KEP-5055)."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.kinds.strategies.status import bump_generation, empty_status, keep, keep_spec_and_metadata
from gateway.kinds.strategy import Strategy
from gateway.kinds.write_context import WriteContext
from gateway.schema.times import instant
from gateway.validation.checks import same
from gateway.validation.conditions import validate_conditions
from gateway.validation.devices import validate_driver_name, validate_pool_name, validate_taint
from gateway.validation.field import FieldError, too_many
from gateway.validation.formats import validate_dns1123_label

MAX_CONDITIONS = 8
_SELECTOR = "spec.deviceSelector"


def _taint(obj: JsonObject) -> JsonObject:
    taint: JsonObject = (obj.get("spec") or {}).get("taint") or {}
    return taint


def _prepare_for_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> None:
    """A new effect of the taint sets timeAdded to now, unless the update changes timeAdded itself."""
    keep(obj, old, "status")
    taint, before = _taint(obj), _taint(old)
    if taint.get("effect") != before.get("effect") and instant(taint, "timeAdded") == instant(before, "timeAdded"):
        taint["timeAdded"] = context.now
    if not same(obj.get("spec"), old.get("spec")):
        bump_generation(obj, old)


def _judged(obj: JsonObject, before: JsonObject | None) -> list[FieldError]:
    selector = (obj.get("spec") or {}).get("deviceSelector") or {}
    found = list[FieldError]()
    if (driver := selector.get("driver")) is not None:
        found += validate_driver_name(driver, f"{_SELECTOR}.driver")
    if (pool := selector.get("pool")) is not None:
        found += validate_pool_name(pool, f"{_SELECTOR}.pool")
    if (device := selector.get("device")) is not None:
        found += validate_dns1123_label(f"{_SELECTOR}.device", device)
    taint = _taint(obj)
    errors = validate_taint(taint, "spec.taint")
    if before is not None and before.get("effect", "") == taint.get("effect", ""):
        errors = [each for each in errors if each.field != "spec.taint.effect"]
    return found + errors


def _validate(obj: JsonObject, context: WriteContext) -> list[FieldError]:
    return _judged(obj, None)


def _validate_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    return _judged(obj, _taint(old))


def _validate_status(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    conditions = (obj.get("status") or {}).get("conditions") or []
    found = validate_conditions(conditions, "status.conditions")
    if len(conditions) > MAX_CONDITIONS:
        found.append(too_many("status.conditions", len(conditions), MAX_CONDITIONS))
    return found


STRATEGIES = {
    "": Strategy(
        prepare_for_create=empty_status({}, generation=True),
        prepare_for_update=_prepare_for_update,
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
    ),
}
