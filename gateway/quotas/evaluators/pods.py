"""Pods: their number, and their containers' requests and limits ("Compute Resource Quota", "Quota scopes")."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gateway import clock
from gateway.jsontypes import JsonObject
from gateway.kinds.attributes import Operation
from gateway.kinds.metadata import seconds_of
from gateway.quotas.amounts import ONE, Amounts
from gateway.quotas.evaluator import Classes, EvaluatedWrite, Evaluator
from gateway.quotas.pod_amounts import has_pod_level, limits_of, requests_of
from gateway.quotas.scopes import ScopeSelector
from gateway.schema.pod_total import HUGE_PAGES
from gateway.schema.quantity import Quantity
from gateway.validation.qos import qos_class
from gateway.validation.resource_names import REQUESTS, is_extended, is_native

COUNT, PODS = "count/pods", "pods"
DEVICE_CLASS = "deviceclass.resource.kubernetes.io/"
_COMPUTE = ("cpu", "memory", "ephemeral-storage")
_OF_KINDS = {f"{kind}.{name}" for kind in ("requests", "limits") for name in _COMPUTE}
_NAMES = frozenset({COUNT, PODS, *_COMPUTE, *_OF_KINDS})
_HAS_TO_BE_SAID = frozenset({"cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"})


def usage(pod: JsonObject, classes: Classes) -> Amounts:
    """What a pod uses. One that has ended, or is past its deletion grace period, counts for `count/pods` only."""
    if not is_counted(pod):
        return {COUNT: ONE}
    return {COUNT: ONE, **_compute(requests_of(pod), limits_of(pod))}


def is_counted(pod: JsonObject) -> bool:
    """Whether a pod still uses resources: it has not ended, and its deletion grace period is not over."""
    return (pod.get("status") or {}).get("phase") not in ("Failed", "Succeeded") and (
        (due := overdue_at(pod)) is None or clock.now() <= due
    )


def overdue_at(pod: JsonObject) -> float | None:
    """The time (seconds since 1970) after which a pod that is being deleted counts no more; None for other pods."""
    meta = pod["metadata"]
    deleted, grace = meta.get("deletionTimestamp"), meta.get("deletionGracePeriodSeconds")
    return None if not deleted or grace is None else seconds_of(deleted) + grace


def _compute(requests: Amounts, limits: Amounts) -> dict[str, Quantity]:
    used = {PODS: ONE}
    for name, amount in requests.items():
        if name in _COMPUTE or name.startswith(HUGE_PAGES):
            used[name] = used[REQUESTS + name] = amount
        elif name.startswith(DEVICE_CLASS) or is_extended(name):
            used[REQUESTS + name] = amount
    for name in _COMPUTE:
        if name in limits:
            used[f"limits.{name}"] = limits[name]
    return used


def is_extended_for_quota(name: str) -> bool:
    """Whether a name in a quota is `requests.` and an extended resource."""
    return name.startswith(REQUESTS) and (not is_native(name) or name.startswith(REQUESTS + DEVICE_CLASS))


def _matches(name: str, classes: Classes) -> bool:
    return name.startswith((HUGE_PAGES, REQUESTS + HUGE_PAGES)) or is_extended_for_quota(name)


def _has_to_say(names: Iterable[str], pod: JsonObject) -> str:
    """The message about containers without a request or limit for CPU or memory that a quota limits; "" if none."""
    spec = pod.get("spec") or {}
    if has_pod_level(spec, "requests", "limits"):
        return ""
    if not (required := _HAS_TO_BE_SAID.intersection(names)):
        return ""
    missing: dict[str, set[str]] = {}
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        resources = container.get("resources") or {}
        for name in required:
            kind, _, resource = name.rpartition(".")
            if resource not in (resources.get(kind or "requests") or ()):
                missing.setdefault(name, set()).add(container.get("name", ""))
    if not missing:
        return ""
    return "must specify " + "; ".join(f"{name} for: {','.join(sorted(missing[name]))}" for name in sorted(missing))


def is_terminating(pod: JsonObject) -> bool:
    """Whether a pod is in the scope Terminating: it has activeDeadlineSeconds."""
    deadline = (pod.get("spec") or {}).get("activeDeadlineSeconds")
    return deadline is not None and deadline >= 0


def _is_best_effort(pod: JsonObject) -> bool:
    return ((pod.get("status") or {}).get("qosClass") or qos_class(pod.get("spec") or {})) == "BestEffort"


def _in_scope(selector: ScopeSelector, pod: JsonObject) -> bool:
    match selector.scope:
        case "Terminating":
            return is_terminating(pod)
        case "NotTerminating":
            return not is_terminating(pod)
        case "BestEffort":
            return _is_best_effort(pod)
        case "NotBestEffort":
            return not _is_best_effort(pod)
        case "PriorityClass":
            name = (pod.get("spec") or {}).get("priorityClassName")
            return selector.selects((name,) if name else ())
        case "CrossNamespacePodAffinity":
            return any(term.get("namespaces") or "namespaceSelector" in term for term in _affinity_terms(pod))
    return False


def _affinity_terms(pod: JsonObject) -> Iterator[JsonObject]:
    affinity = (pod.get("spec") or {}).get("affinity") or {}
    for kind in ("podAffinity", "podAntiAffinity"):
        found = affinity.get(kind) or {}
        yield from found.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
        for weighted in found.get("preferredDuringSchedulingIgnoredDuringExecution") or ():
            yield weighted.get("podAffinityTerm") or {}


def _handles(write: EvaluatedWrite) -> bool:
    match write.subresource, write.operation:
        case "", Operation.CREATE:
            return True
        case "", Operation.UPDATE:
            return write.old is not None and is_terminating(write.old) != is_terminating(write.obj)
        case "resize", Operation.UPDATE:
            return True
    return False


EVALUATOR = Evaluator(
    "",
    "pods",
    _NAMES,
    usage,
    _handles,
    more_names=_matches,
    has_to_say=_has_to_say,
    in_scope=_in_scope,
    has_scopes=True,
    by_specification=True,
)
