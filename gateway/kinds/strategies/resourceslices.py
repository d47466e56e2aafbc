"""ResourceSlices: the devices that a driver offers."""

from __future__ import annotations

from collections.abc import Iterator

from gateway.jsontypes import JsonObject
from gateway.kinds.strategies.status import bump_generation
from gateway.kinds.strategy import Strategy, on_update
from gateway.kinds.write_context import WriteContext
from gateway.release.gates import Enabled
from gateway.validation.checks import same
from gateway.validation.field import FieldError, go_quote
from gateway.validation.request_policy import RequestPolicyRules
from gateway.validation.resource_slice import validate_slice

_LISTS = ("bools", "ints", "strings", "versions")  # fields of list attributes, whose gate is off


def _devices(obj: JsonObject) -> list[JsonObject]:
    devices: list[JsonObject] = obj.get("spec", {}).get("devices") or []
    return devices


def _attributes(obj: JsonObject) -> Iterator[JsonObject]:
    return (attribute for device in _devices(obj) for attribute in (device.get("attributes") or {}).values())


def _drop(obj: JsonObject, old: JsonObject | None) -> None:
    before = old or {}
    if not any(key in attribute for attribute in _attributes(before) for key in _LISTS):
        for attribute in _attributes(obj):
            for key in _LISTS:
                attribute.pop(key, None)


def _prepare_for_create(obj: JsonObject, context: WriteContext) -> None:
    obj["metadata"]["generation"] = 1
    _drop(obj, None)


def _prepare_for_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> None:
    if not same(obj.get("spec"), old.get("spec")):
        bump_generation(obj, old)
    _drop(obj, old)


def _warnings(obj: JsonObject, context: WriteContext) -> list[str]:
    driver = obj.get("spec", {}).get("driver", "")
    if driver == driver.lower():
        return []
    return [f"spec.driver: driver names should be lowercase; {go_quote(driver)} contains uppercase characters"]


def strategies(enabled: Enabled) -> dict[str, Strategy]:
    """The strategies by the values of feature gates."""
    ranges = RequestPolicyRules(enabled("DeviceCapacityRatcheted"), enabled("DRAFractionalCapacityRange"))

    def validate(obj: JsonObject, context: WriteContext) -> list[FieldError]:
        return validate_slice(obj, None, ranges)

    def validate_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
        return validate_slice(obj, old, ranges)

    return {
        "": Strategy(
            prepare_for_create=_prepare_for_create,
            prepare_for_update=_prepare_for_update,
            validate=validate,
            validate_update=validate_update,
            warnings_on_create=_warnings,
            warnings_on_update=on_update(_warnings),
            returns_deleted=True,
        )
    }
