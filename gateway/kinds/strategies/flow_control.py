"""The strategies that FlowSchemas and PriorityLevelConfigurations share: generation and status."""

from __future__ import annotations

from collections.abc import Callable

from gateway.jsontypes import JsonObject
from gateway.kinds.strategies.status import counting, empty_status, keep_spec_and_all_metadata, with_status
from gateway.kinds.strategy import Strategy
from gateway.kinds.write_context import WriteContext
from gateway.validation.field import FieldError
from gateway.validation.flow_control import validate_conditions
from gateway.validation.objectmeta import validate_object_meta


def flow_control(validate: Callable[[JsonObject], list[FieldError]]) -> dict[str, Strategy]:
    """The strategies of a kind; `validate` is called on creates and updates alike."""

    def on_create(obj: JsonObject, context: WriteContext) -> list[FieldError]:
        return validate(obj)

    def on_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
        return validate_object_meta(obj["metadata"], False) + validate(obj)

    own = Strategy(
        prepare_for_create=empty_status({}, generation=True),
        prepare_for_update=counting(),
        validate=on_create,
        validate_update=on_update,
        rechecks_metadata=False,
    )
    return with_status(
        own,
        _validate_status,
        prepare=keep_spec_and_all_metadata,
        rechecks_metadata=False,
        resets=(("metadata",), ("spec",)),
    )


def _validate_status(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    return validate_conditions(obj)
