"""PriorityLevelConfigurations: generation and status."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.kinds.strategies.status import counting, empty_status, keep_spec_and_all_metadata
from gateway.kinds.strategy import Strategy, WriteContext
from gateway.validation.field import FieldError
from gateway.validation.flow_control import validate_conditions, validate_priority_level
from gateway.validation.objectmeta import validate_object_meta


def _validate(obj: JsonObject, context: WriteContext) -> list[FieldError]:
    return validate_priority_level(obj)


def _validate_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    return validate_object_meta(obj["metadata"], False) + validate_priority_level(obj)


def _validate_status(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    return validate_conditions(obj)


STRATEGIES = {
    "": Strategy(
        prepare_for_create=empty_status({}, generation=True),
        prepare_for_update=counting(),
        validate=_validate,
        validate_update=_validate_update,
        rechecks_metadata=False,
        reset_fields=(("status",),),
    ),
    "status": Strategy(
        prepare_for_update=keep_spec_and_all_metadata,
        validate_update=_validate_status,
        rechecks_metadata=False,
        reset_fields=(("metadata",), ("spec",)),
    ),
}
