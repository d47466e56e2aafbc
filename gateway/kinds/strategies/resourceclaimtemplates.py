"""ResourceClaimTemplates: the spec is immutable."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.kinds.strategies.expressions import SelectorCheck
from gateway.kinds.strategy import Strategy
from gateway.kinds.write_context import WriteContext
from gateway.release.gates import Enabled
from gateway.validation.checks import same
from gateway.validation.devices import same_parameters, validate_claim_devices
from gateway.validation.field import FieldError, invalid
from gateway.validation.go_structs import verbatim
from gateway.validation.objectmeta import IMMUTABLE, recheck_object_meta_update, validate_object_meta
from gateway.validation.template_metadata import validate_template_metadata


def _validate(obj: JsonObject, enabled: Enabled) -> list[FieldError]:
    spec = obj.get("spec", {})
    found = validate_template_metadata(spec.get("metadata") or {}, "spec.metadata")
    devices = (spec.get("spec") or {}).get("devices") or {}
    return found + validate_claim_devices(devices, "spec.spec.devices", SelectorCheck(enabled))


def _validate_update(obj: JsonObject, old: JsonObject, enabled: Enabled) -> list[FieldError]:
    found = validate_object_meta(obj["metadata"], True) + _validate(obj, enabled)
    found += recheck_object_meta_update(obj["metadata"], old["metadata"])
    return (
        found
        if same(obj.get("spec"), old.get("spec")) and same_parameters(*map(_devices, (obj, old)))
        else [
            *found,
            invalid("spec", verbatim("io.k8s.api.resource.v1.ResourceClaimTemplateSpec", obj.get("spec")), IMMUTABLE),
        ]
    )


def _devices(obj: JsonObject) -> JsonObject:
    return ((obj.get("spec") or {}).get("spec") or {}).get("devices") or {}


def strategies(enabled: Enabled) -> dict[str, Strategy]:
    """The strategies by the values of feature gates."""

    def validate(obj: JsonObject, context: WriteContext) -> list[FieldError]:
        return _validate(obj, enabled)

    def validate_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
        return _validate_update(obj, old, enabled)

    return {
        "": Strategy(
            validate=validate,
            validate_update=validate_update,
            rechecks_metadata=False,
            hands_out_devices=True,
            returns_deleted=True,
        )
    }
