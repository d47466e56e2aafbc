"""Ingresses: generation, status, and the deprecated annotation for ingressClassName."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.kinds.strategies.services import balancer_warnings
from gateway.kinds.strategies.status import counting, empty_status, keep_spec
from gateway.kinds.strategy import Strategy
from gateway.kinds.write_context import WriteContext
from gateway.validation.field import FieldError, invalid
from gateway.validation.ingress import CLASS_ANNOTATION, validate_ingress, validate_ingress_status
from gateway.validation.objectmeta import validate_object_meta


def _annotated_class(obj: JsonObject) -> str | None:
    annotated: str | None = (obj["metadata"].get("annotations") or {}).get(CLASS_ANNOTATION)
    return annotated


def _validate(obj: JsonObject, context: WriteContext) -> list[FieldError]:
    found = validate_ingress(obj, None)
    annotated, named = _annotated_class(obj), obj.get("spec", {}).get("ingressClassName")
    if annotated is not None and named is not None and annotated != named:
        message = "must match `ingressClassName` when both are specified"
        found.append(invalid(f"annotations.{CLASS_ANNOTATION}", annotated, message))
    return found


def _validate_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    return validate_object_meta(obj["metadata"], True) + validate_ingress(obj, old)


def _validate_status(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    return validate_ingress_status(obj, old)


def _warnings(obj: JsonObject, context: WriteContext) -> list[str]:
    if _annotated_class(obj) is None or "ingressClassName" in obj.get("spec", {}):
        return []
    return [f"annotation \"{CLASS_ANNOTATION}\" is deprecated, please use 'spec.ingressClassName' instead"]


STRATEGIES = {
    "": Strategy(
        prepare_for_create=empty_status({"loadBalancer": {}}, generation=True),
        prepare_for_update=counting(),
        validate=_validate,
        validate_update=_validate_update,
        warnings_on_create=_warnings,
        reset_fields=(("status",),),
    ),
    "status": Strategy(
        prepare_for_update=keep_spec,
        validate_update=_validate_status,
        warnings_on_update=balancer_warnings,
        reset_fields=(("spec",),),
    ),
}
