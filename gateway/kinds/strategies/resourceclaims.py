"""ResourceClaims: the spec is immutable; the scheduler and drivers write the status."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.kinds.strategies.expressions import SelectorCheck
from gateway.kinds.strategies.status import empty_status, keep_spec_and_metadata, keep_status
from gateway.kinds.strategy import Strategy
from gateway.kinds.write_context import WriteContext
from gateway.release.gates import Enabled
from gateway.validation.checks import same
from gateway.validation.devices import same_parameters, validate_claim_devices
from gateway.validation.field import FieldError, invalid
from gateway.validation.go_structs import verbatim
from gateway.validation.objectmeta import IMMUTABLE, validate_object_meta
from gateway.validation.resource_claim import kept_devices, validate_claim_status


def _validate_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    found = validate_object_meta(obj["metadata"], True)
    return (
        found
        if same(obj.get("spec"), old.get("spec")) and same_parameters(*map(_devices, (obj, old)))
        else [*found, invalid("spec", verbatim("io.k8s.api.resource.v1.ResourceClaimSpec", obj.get("spec")), IMMUTABLE)]
    )


def _devices(obj: JsonObject) -> JsonObject:
    return (obj.get("spec") or {}).get("devices") or {}


def _prepare_status(obj: JsonObject, old: JsonObject, context: WriteContext) -> None:
    """Drops the status of devices that are no longer allocated."""
    keep_spec_and_metadata(obj, old, context)
    devices, status = kept_devices(obj, old), obj.get("status") or {}
    status.pop("devices", None)
    if devices:
        status["devices"] = devices


def strategies(enabled: Enabled) -> dict[str, Strategy]:
    """The strategies by the values of feature gates."""
    tolerations = enabled("AllocatedTolerationsValidated")

    def validate(obj: JsonObject, context: WriteContext) -> list[FieldError]:
        check = SelectorCheck(enabled)
        return validate_claim_devices(obj.get("spec", {}).get("devices") or {}, "spec.devices", check)

    def validate_status(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
        return validate_claim_status(obj, old, tolerations)

    return {
        "": Strategy(
            prepare_for_create=empty_status({}),
            prepare_for_update=keep_status,
            validate=validate,
            validate_update=_validate_update,
            reset_fields=(("status",),),
            hands_out_devices=True,
            returns_deleted=True,
        ),
        "status": Strategy(
            prepare_for_update=_prepare_status,
            validate_update=validate_status,
            reset_fields=(("metadata",), ("spec",)),
            hands_out_devices=True,
        ),
    }
