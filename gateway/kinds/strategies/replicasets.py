"""ReplicaSets (page "ReplicaSet")."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.kinds.strategies import templates
from gateway.kinds.strategies.status import with_status
from gateway.kinds.strategy import Strategy
from gateway.kinds.write_context import WriteContext
from gateway.validation.field import FieldError
from gateway.validation.pod_options import PodOptions
from gateway.validation.workload import validate_available, validate_counts, validate_selected_template

_STATUS_COUNTS = (
    *("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration"),
    "terminatingReplicas",
)


def _spec(spec: JsonObject, errors: list[FieldError], options: PodOptions) -> None:
    validate_counts(spec, ("replicas", "minReadySeconds"), "spec", errors)
    validate_selected_template(spec, errors, options)


def validate_replica_status(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    """Validates the status of a ReplicaSet or a ReplicationController."""
    ready = ("fullyLabeledReplicas", "readyReplicas", "availableReplicas")
    return validate_available(obj.get("status") or {}, _STATUS_COUNTS, ready)


STRATEGIES = with_status(
    Strategy(
        prepare_for_create=templates.creating("replicas"),
        prepare_for_update=templates.prepare_for_update,
        validate=templates.validating(_spec),
        validate_update=templates.validating_update(_spec),
        warnings_on_create=templates.warnings_on_create,
        warnings_on_update=templates.warnings_on_update,
    ),
    validate_replica_status,
)
