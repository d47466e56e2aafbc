"""ReplicaSets (page "ReplicaSet")."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.kinds.attributes import Attributes
from gateway.kinds.strategies import templates
from gateway.kinds.strategies.status import with_status
from gateway.kinds.strategy import Strategy
from gateway.validation.field import FieldError, invalid
from gateway.validation.internal_form import selector_json
from gateway.validation.pod_options import PodOptions
from gateway.validation.pod_template import template_options
from gateway.validation.workload import (
    selector_is_usable,
    validate_counts,
    validate_immutable_selector,
    validate_not_above,
    validate_replica_template,
    validate_selector,
)

_STATUS_COUNTS = (
    *("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration"),
    "terminatingReplicas",
)


def _spec(spec: JsonObject, errors: list[FieldError], options: PodOptions) -> None:
    selector, template = spec.get("selector"), spec.get("template") or {}
    validate_counts(spec, ("replicas", "minReadySeconds"), "spec", errors)
    validate_selector(selector, "spec.selector", errors, "deployment")
    if selector_is_usable(selector):
        validate_replica_template(selector, template, "spec.template", errors, options)
    else:
        errors.append(invalid("spec.selector", selector_json(selector), "invalid label selector"))


def _validate(obj: JsonObject, attributes: Attributes) -> list[FieldError]:
    errors: list[FieldError] = []
    _spec(obj.get("spec") or {}, errors, template_options(None))
    return errors


def _validate_update(obj: JsonObject, old: JsonObject, attributes: Attributes) -> list[FieldError]:
    if obj.get("spec") == old.get("spec"):
        return []
    errors: list[FieldError] = []
    _spec(obj.get("spec") or {}, errors, template_options(templates.template_of(old)))
    validate_immutable_selector(obj.get("spec") or {}, old.get("spec") or {}, errors)
    return errors


def validate_replica_status(status: JsonObject) -> list[FieldError]:
    """Of a ReplicaSet or ReplicationController."""
    errors: list[FieldError] = []
    counters = ("fullyLabeledReplicas", "readyReplicas", "availableReplicas")
    validate_counts(status, _STATUS_COUNTS, "status", errors)
    validate_not_above(status, counters, "replicas", "status", errors, "status.replicas")
    validate_not_above(status, ("availableReplicas",), "readyReplicas", "status", errors, "readyReplicas")
    return errors


def _validate_status(obj: JsonObject, old: JsonObject, attributes: Attributes) -> list[FieldError]:
    return validate_replica_status(obj.get("status") or {})


STRATEGIES = with_status(
    Strategy(
        prepare_for_create=templates.creating("replicas"),
        prepare_for_update=templates.prepare_for_update,
        validate=_validate,
        validate_update=_validate_update,
        warnings_on_create=templates.warnings_on_create,
        warnings_on_update=templates.warnings_on_update,
    ),
    _validate_status,
)
