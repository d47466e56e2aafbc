"""Pods (page "Pods"; API reference "Pod")."""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial

from gateway.defaults.pod import default_all_but_spec
from gateway.http.warnings import bounded
from gateway.jsontypes import JsonObject
from gateway.kinds.strategies.status import CLIENTS_METADATA, bump_generation, keep
from gateway.kinds.strategy import Strategy
from gateway.kinds.write_context import WriteContext
from gateway.release.gates import Enabled
from gateway.validation.addresses import ip_warnings
from gateway.validation.containers import validate_image_spacing
from gateway.validation.field import FieldError, forbidden
from gateway.validation.names import name_is_dns_subdomain
from gateway.validation.objectmeta import validate_object_meta
from gateway.validation.pod_annotations import (
    APP_ARMOR,
    has_meaning,
    validate_annotations_match_fields,
    validate_pod_annotations,
    validate_pod_annotations_update,
)
from gateway.validation.pod_features import drop_disabled_fields, drop_disabled_status_fields
from gateway.validation.pod_options import PodOptions, containers_of, options_of_create
from gateway.validation.pod_relaxations import options_for_update
from gateway.validation.pod_resize import validate_pod_resize
from gateway.validation.pod_resources import MIRROR_ANNOTATION
from gateway.validation.pod_spec import stands_alone, validate_pod_spec
from gateway.validation.pod_status import validate_pod_status_update
from gateway.validation.pod_update import validate_ephemeral_containers_update, validate_pod_update
from gateway.validation.pod_warnings import annotations_matter, app_armor_field, name_warning, pod_warnings
from gateway.validation.qos import qos_class
from gateway.validation.scheduling import PREFERRED_TERMS, REQUIRED_TERMS
from gateway.validation.security_context import validate_app_armor_profile

_WITH_IMAGES = ("containers", "initContainers")
_VALID = "valid as that of a pod"
Settle = Callable[[JsonObject], str]
OnResize = Callable[[JsonObject, JsonObject], None]
_GATED = "Scheduling is blocked due to non-empty scheduling gates"


def _spec(pod: JsonObject) -> JsonObject:
    spec: JsonObject = pod.setdefault("spec", {})
    grace = spec.get("terminationGracePeriodSeconds")
    if grace is not None and grace < 0:
        spec["terminationGracePeriodSeconds"] = 1
    return spec


def _annotations(pod: JsonObject) -> dict[str, str]:
    annotations: dict[str, str] = pod["metadata"].get("annotations") or {}
    return annotations


def _prepare_for_create(pod: JsonObject, context: WriteContext, settle: Settle | None = None) -> None:
    """`settle` completes the prepared spec, and returns the QoS class in the place of the one that was sent."""
    spec, meta = _spec(pod), pod["metadata"]
    meta["generation"] = 1
    status: JsonObject = {"phase": "Pending"}
    if settle is None:
        status["qosClass"] = (pod.get("status") or {}).get("qosClass") or qos_class(spec)
    drop_disabled_fields(spec, None)
    if spec.get("schedulingGates"):
        condition = {
            "type": "PodScheduled",
            "status": "False",
            "lastProbeTime": None,
            "lastTransitionTime": context.now,
        }
        status["conditions"] = [{**condition, "reason": "SchedulingGated", "message": _GATED}]
    pod["status"] = status
    if "affinity" in spec or "topologySpreadConstraints" in spec:
        labels = meta.get("labels") or {}
        for term, operators in _label_key_terms(spec):
            _merge_label_keys(term, labels, operators)
    _app_armor(pod, spec, context)
    if settle is not None:
        status["qosClass"] = settle(spec)


def _label_key_terms(spec: JsonObject) -> Iterator[tuple[JsonObject, dict[str, str]]]:
    """Yields the terms with label keys to merge into their selectors, and the operator of each list (KEP-3633)."""
    operators = {"matchLabelKeys": "In", "mismatchLabelKeys": "NotIn"}
    affinity = spec.get("affinity") or {}
    for kind in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(kind) or {}
        for weighted in terms.get(PREFERRED_TERMS) or ():
            yield weighted.get("podAffinityTerm") or {}, operators
        for term in terms.get(REQUIRED_TERMS) or ():
            yield term, operators
    for constraint in spec.get("topologySpreadConstraints") or ():
        yield constraint, {"matchLabelKeys": "In"}


def _merge_label_keys(term: JsonObject, labels: dict[str, str], operators: dict[str, str]) -> None:
    selector = term.get("labelSelector")
    if selector is None:
        return
    for name, operator in operators.items():
        for key in term.get(name) or ():
            if key in labels:
                requirement = {"key": key, "operator": operator, "values": [labels[key]]}
                selector.setdefault("matchExpressions", []).append(requirement)


def _app_armor(pod: JsonObject, spec: JsonObject, context: WriteContext) -> None:
    """Sets the appArmorProfile fields from AppArmor annotations, and warns of each annotation."""
    annotations = _annotations(pod)
    if not any(key.startswith(APP_ARMOR) for key in annotations) or (spec.get("os") or {}).get("name") == "windows":
        return
    pod_profile = (spec.get("securityContext") or {}).get("appArmorProfile")
    for container in containers_of(spec):
        key = f"{APP_ARMOR}{container.get('name', '')}"
        if key not in annotations or "appArmorProfile" in (container.get("securityContext") or {}):
            continue
        profile, errors = app_armor_field(annotations[key]), list[FieldError]()
        if profile is not None:
            validate_app_armor_profile(profile, "", errors)
        if errors or profile is None or profile != pod_profile:
            if profile is not None and not errors:
                container.setdefault("securityContext", {})["appArmorProfile"] = profile
            text = 'deprecated since v1.30; use the "appArmorProfile" field instead'
            context.warn([f"metadata.annotations[{key}]: {text}"])


def _prepare_for_update(pod: JsonObject, old: JsonObject, context: WriteContext) -> None:
    keep(pod, old, "status")
    if _has_other_spec(pod, old):
        drop_disabled_fields(_spec(pod), old.get("spec"))
        _count_change(pod, old)


def _has_other_spec(pod: JsonObject, old: JsonObject) -> bool:
    """Whether a write may have changed the spec. A patch that leaves the spec alone keeps the same Python object."""
    spec = pod.get("spec")
    return spec is None or spec is not old.get("spec")


def _count_change(pod: JsonObject, old: JsonObject) -> None:
    if pod.get("spec") != old.get("spec"):
        bump_generation(pod, old)


def _metadata_and_spec(
    pod: JsonObject,
    errors: list[FieldError],
    options: PodOptions,
    old: JsonObject | None = None,
    created: WriteContext | None = None,
) -> None:
    """Validates annotations and spec. A spec that is unchanged is not validated again.

    `created` is the context of a create, None for other writes.
    """
    spec, annotations = pod.get("spec") or {}, _annotations(pod)
    if annotations:
        validate_pod_annotations(annotations, spec, "metadata.annotations", errors, options)
    if old is not None and spec == old.get("spec"):
        return
    judge = partial(_judge_spec, pod, spec, errors, options)
    _ = judge() if created is None else created.of_spec(_VALID, judge)


def _judge_spec(pod: JsonObject, spec: JsonObject, errors: list[FieldError], options: PodOptions) -> bool | None:
    """Validates the spec. Returns True if it is valid in every pod, else None."""
    found = len(errors)
    validate_pod_spec(spec, pod["metadata"], "spec", errors, options)
    if not spec.get("serviceAccountName"):
        for i, volume in enumerate(spec.get("volumes") or ()):
            for j, source in enumerate((volume.get("projected") or {}).get("sources") or ()):
                if "serviceAccountToken" in source:
                    at = f"spec.volumes[{i}].projected.sources[{j}].serviceAccountToken"
                    errors.append(forbidden(at, "must not be specified when serviceAccountName is not set"))
    for key in ("containers", "initContainers"):
        for i, container in enumerate(spec.get(key) or ()):
            validate_image_spacing(container, f"spec.{key}[{i}]", errors)
    return True if len(errors) == found and stands_alone(spec) else None


def _validate(pod: JsonObject, context: WriteContext) -> list[FieldError]:
    errors: list[FieldError] = []
    _metadata_and_spec(pod, errors, options_of_create(is_pod=True, enabled=context.enabled), created=context)
    spec, annotations = pod.get("spec") or {}, _annotations(pod)
    if spec.get("ephemeralContainers"):
        errors.append(forbidden("spec.ephemeralContainers", "cannot be set on create"))
    if spec.get("nodeName") and spec.get("schedulingGates"):
        errors.append(forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared"))
    if annotations:
        validate_annotations_match_fields(annotations, spec, "spec", errors)
    return errors


def _options(old: JsonObject, context: WriteContext) -> PodOptions:
    annotations = old["metadata"].get("annotations")
    return options_for_update(old.get("spec") or {}, annotations, is_pod=True, enabled=context.enabled)


def _updated(pod: JsonObject, old: JsonObject, options: PodOptions) -> list[FieldError]:
    errors = validate_object_meta(pod["metadata"], True, name_is_dns_subdomain)
    _metadata_and_spec(pod, errors, options, old)
    return errors


def _annotation_changes(pod: JsonObject, old: JsonObject, errors: list[FieldError], options: PodOptions) -> None:
    new, before, path = _annotations(pod), _annotations(old), "metadata.annotations"
    validate_pod_annotations_update(new, before, path, errors)
    validate_pod_annotations(new, pod.get("spec") or {}, path, errors, options)


def _stays_valid(pod: JsonObject, old: JsonObject) -> bool:
    """Whether only metadata has changed, and pods have no rules of their own for it."""
    if _has_other_spec(pod, old) or any(map(has_meaning, (*_annotations(pod), *_annotations(old)))):
        return False
    images = [container.get("image", "") for key in _WITH_IMAGES for container in pod["spec"].get(key) or ()]
    return all(image and image == image.strip() for image in images)


def _validate_update(pod: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    if not context.metadata_errors and _stays_valid(pod, old):
        return []
    options = _options(old, context)
    errors = _updated(pod, old, options)
    _annotation_changes(pod, old, errors, options)
    validate_pod_update(pod.get("spec") or {}, old.get("spec") or {}, errors, options)
    return errors


def _warnings(pod: JsonObject, context: WriteContext) -> Iterator[str]:
    yield from name_warning(pod["metadata"].get("name", ""), "the Pod's hostname")
    if annotations_matter(_annotations(pod)):
        yield from pod_warnings(pod)
    else:
        yield from context.of_spec("warnings of pods", lambda: bounded(pod_warnings(pod)))


def _prepare_status(pod: JsonObject, old: JsonObject, context: WriteContext) -> None:
    keep(pod, old, "spec")
    meta, status, before = pod["metadata"], pod.setdefault("status", {}), old.get("status") or {}
    meta.pop("deletionTimestamp", None)
    keep(meta, old["metadata"], "ownerReferences")
    if not status.get("qosClass") and before.get("qosClass"):
        status["qosClass"] = before["qosClass"]
    if not status.get("observedGeneration") and before.get("observedGeneration"):
        status["observedGeneration"] = before["observedGeneration"]
    generations: dict[str, deque[int]] = {}
    for condition in before.get("conditions") or ():
        known = generations.setdefault(condition.get("type", ""), deque())
        known.append(condition.get("observedGeneration", 0))
    for condition in status.get("conditions") or ():
        left = generations.get(condition.get("type", ""))
        generation = left.popleft() if left else 0
        if not condition.get("observedGeneration") and generation:
            condition["observedGeneration"] = generation
    if context.enabled("PodStatusRevised"):
        for key in _OF_CLAIMS:
            if key not in status and f"status.{key}" not in context.unstored:
                keep(status, before, key)
    drop_disabled_status_fields(status, before)


_OF_CLAIMS = ("resourceClaimStatuses", "extendedResourceClaimStatus", "nodeAllocatableResourceClaimStatuses")
"""Members of the status that stay if a client leaves them out, because an older client does not know them."""


def _validate_status(pod: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    errors: list[FieldError] = []
    if any(map(has_meaning, (*_annotations(pod), *_annotations(old)))):  # the others have no rules
        _annotation_changes(pod, old, errors, _options(old, context))
    validate_pod_status_update(pod, old, errors, revised=context.enabled("PodStatusRevised"))
    return errors


def _status_warnings(pod: JsonObject, old: JsonObject, context: WriteContext) -> Iterator[str]:
    status = pod.get("status") or {}
    for key in ("podIPs", "hostIPs"):
        for i, address in enumerate(status.get(key) or ()):
            yield from ip_warnings(f"status.{key}[{i}].ip", address.get("ip", ""))


def _keep_metadata(pod: JsonObject, old: JsonObject) -> None:
    for key in CLIENTS_METADATA:
        keep(pod["metadata"], old["metadata"], key)


def _prepare_ephemeral(pod: JsonObject, old: JsonObject, context: WriteContext) -> None:
    containers = (pod.get("spec") or {}).get("ephemeralContainers")
    keep(pod, old, "spec")
    keep(pod, old, "status")
    _keep_metadata(pod, old)
    spec = pod.setdefault("spec", {})
    if containers:
        spec["ephemeralContainers"] = containers
    else:
        spec.pop("ephemeralContainers", None)
    drop_disabled_fields(spec, old.get("spec"))
    _count_change(pod, old)


def _validate_ephemeral(pod: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    options = _options(old, context)
    errors = _updated(pod, old, options)
    _annotation_changes(pod, old, errors, options)
    if MIRROR_ANNOTATION in _annotations(old):
        return [forbidden("[]", "static pods do not support ephemeral containers")]
    validate_ephemeral_containers_update(pod.get("spec") or {}, old.get("spec") or {}, errors)
    return errors


def _prepare_resize(pod: JsonObject, old: JsonObject, context: WriteContext, complete: OnResize | None = None) -> None:
    """Takes only resources and resize policies from the new spec. `complete` gets that spec and the old one."""
    new, before = pod.get("spec") or {}, old.get("spec") or {}
    lists = [(key, new.get(key) or [], before.get(key) or []) for key in ("containers", "initContainers")]
    if all(len(after) == len(kept) for _, after, kept in lists):
        resources = new.get("resources")
        merged = {key: _resized(after, kept) for key, after, kept in lists if after}
        keep(pod, old, "spec")
        keep(pod, old, "status")
        _keep_metadata(pod, old)
        spec = pod.setdefault("spec", {})
        spec.update(merged)
        if resources is None:
            spec.pop("resources", None)
        else:
            spec["resources"] = resources
    if complete is not None:
        complete(pod.setdefault("spec", {}), before)
    drop_disabled_fields(pod.get("spec") or {}, before)
    _count_change(pod, old)


def _resized(new: list[JsonObject], old: list[JsonObject]) -> list[JsonObject]:
    """The old containers with the new resources; the new containers if their names differ."""
    merged = []
    for container, before in zip(new, old, strict=True):
        if container.get("name") != before.get("name"):
            return new
        kept = copy.deepcopy(before)
        for key in ("resources", "resizePolicy"):
            keep(kept, container, key)
        merged.append(kept)
    return merged


def _validate_resize(pod: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    errors = _updated(pod, old, _options(old, context))
    revised, own_if_set = map(context.enabled, ("PodRulesRevised", "PodLevelResourcesFixKubeletQOSClass"))
    validate_pod_resize(pod, old, errors, claims_stay=revised, own_if_set=own_if_set)
    return errors


def _grace_period(pod: JsonObject, asked: int | None) -> int:
    """The grace period in seconds: 0 for a pod that no kubelet runs, else `asked`, or else the pod's own."""
    spec = pod.get("spec") or {}
    if not spec.get("nodeName") or (pod.get("status") or {}).get("phase") in ("Failed", "Succeeded"):
        return 0
    grace: int = asked if asked is not None else spec.get("terminationGracePeriodSeconds") or 0
    return grace if grace >= 0 else 1


_STATUS_RESET = (("spec",), ("metadata", "deletionTimestamp"), ("metadata", "ownerReferences"))

STRATEGIES = {
    "": Strategy(
        prepare_for_create=_prepare_for_create,
        prepare_for_update=_prepare_for_update,
        validate=_validate,
        validate_update=_validate_update,
        warnings_on_create=_warnings,
        reset_fields=(("status",),),
        returns_deleted=True,
        grace_period=_grace_period,
        default_others=default_all_but_spec,
    ),
    "status": Strategy(
        prepare_for_update=_prepare_status,
        validate_update=_validate_status,
        warnings_on_update=_status_warnings,
        reset_fields=_STATUS_RESET,
    ),
    "ephemeralcontainers": Strategy(prepare_for_update=_prepare_ephemeral, validate_update=_validate_ephemeral),
    "resize": Strategy(prepare_for_update=_prepare_resize, validate_update=_validate_resize),
}


def strategies(enabled: Enabled) -> dict[str, Strategy]:
    """The strategies, which depend on the gates of pods' own resources (PodLevelResourcesFix...)."""
    if not enabled("PodLevelResourcesFixDefaulting"):
        return STRATEGIES
    from gateway.kinds.strategies.pod_level_resources import completing

    return completing(
        STRATEGIES, _prepare_for_create, _prepare_resize, own_if_set=enabled("PodLevelResourcesFixKubeletQOSClass")
    )
