"""ReplicationControllers (page "ReplicationController")."""

from __future__ import annotations

from collections.abc import Iterable

from gateway.jsontypes import JsonObject
from gateway.kinds.strategies import templates
from gateway.kinds.strategies.replicasets import validate_replica_status
from gateway.kinds.strategies.status import with_status
from gateway.kinds.strategy import Dependents, Strategy
from gateway.kinds.write_context import WriteContext
from gateway.validation.field import FieldError, required
from gateway.validation.names import name_is_declared_subdomain
from gateway.validation.pod_options import PodOptions
from gateway.validation.pod_template import validate_pod_template
from gateway.validation.workload import no_match, template_labels, validate_always_restarts, validate_counts


def _spec(spec: JsonObject, errors: list[FieldError], options: PodOptions) -> None:
    selector, template = spec.get("selector") or {}, spec.get("template")
    validate_counts(spec, ("minReadySeconds",), "spec", errors)
    if not selector:
        errors.append(required("spec.selector"))
    if "replicas" not in spec:
        errors.append(required("spec.replicas"))
    validate_counts(spec, ("replicas",), "spec", errors)
    if template is None:
        errors.append(required("spec.template"))
        return
    labels = template_labels(template)
    if any(labels.get(key) != value for key, value in selector.items()):
        errors.append(no_match(template, "spec.template"))
    validate_pod_template(template, "spec.template", errors, options)
    validate_always_restarts(template, "spec.template", errors, "ReplicationController")


def _warnings_on_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> Iterable[str]:
    # kube-apiserver warns about the old template, and not about the new one
    if obj["metadata"].get("generation") == old["metadata"].get("generation"):
        return []
    return templates.warnings_about(templates.template_of(old))


STRATEGIES = with_status(
    Strategy(
        prepare_for_create=templates.creating("replicas"),
        prepare_for_update=templates.prepare_for_update,
        validate=templates.validating(_spec),
        validate_update=templates.validating_update(_spec, immutable_selector=False),
        warnings_on_create=templates.warnings_on_create,
        warnings_on_update=_warnings_on_update,
        validate_name=name_is_declared_subdomain,
        dependents=Dependents.ORPHAN,
    ),
    validate_replica_status,
)
