"""One LimitRange: the defaults that it gives to containers, and what it refuses of pods and claims."""

from __future__ import annotations

from collections.abc import Iterator

from gateway.admission.limits.constraints import OF_CLAIMS, OF_PODS, RequestedResources, quantities, violations
from gateway.admission.limits.pod_usage import pod_usage
from gateway.defaults.pod_level_resources import default_pod_resources
from gateway.jsontypes import JsonObject

ANNOTATION = "kubernetes.io/limit-ranger"
_MEMBERS = {"min", "max", "default", "defaultRequest", "maxLimitRequestRatio"}
_CONTAINERS = (("containers", "container"), ("initContainers", "init container"))


def comparisons(limit_range: JsonObject, spec: JsonObject) -> int:
    """The number of quantities that are set or compared, at most, when the LimitRange is enforced for a pod spec."""
    constraints = sum(
        len(limit[key]) for limit in limit_range["spec"].get("limits") or () for key in _MEMBERS & limit.keys()
    )
    return constraints * (1 + sum(len(spec.get(key) or ()) for key, _ in _CONTAINERS))


def with_defaults(limit_range: JsonObject, pod: JsonObject, *, completes: bool = True) -> JsonObject:
    """A copy of a pod whose containers have the default requests and limits of a LimitRange where they have none; the
    pod itself if they have all.

    An annotation lists the defaults that were set. With `completes`, the resources of the pod as a whole are computed
    in the same step.
    """
    given: dict[str, dict[str, str]] = {"requests": {}, "limits": {}}
    for limit in limit_range["spec"].get("limits") or ():
        if limit.get("type") == "Container":
            given["requests"].update(limit.get("defaultRequest") or {})
            given["limits"].update(limit.get("default") or {})
    if not any(given.values()):
        return pod
    spec, notes = {**pod["spec"]}, list[str]()
    for key, kind in _CONTAINERS:
        if containers := spec.get(key):
            spec[key] = [_completed(each, kind, given, notes) for each in containers]
    if not notes:
        return pod
    if completes and (resources := spec.get("resources")):
        spec["resources"] = {**resources, **{name: {**resources[name]} for name in given if resources.get(name)}}
        default_pod_resources(spec)  # they are computed from those of the containers
    annotations = pod["metadata"].get("annotations") or {}
    noted = {**annotations, ANNOTATION: f"LimitRanger plugin set: {'; '.join(notes)}"}
    return {**pod, "metadata": {**pod["metadata"], "annotations": noted}, "spec": spec}


def _completed(container: JsonObject, kind: str, given: dict[str, dict[str, str]], notes: list[str]) -> JsonObject:
    """A copy of a container with its missing defaults, which the notes name; the same container if none is missing."""
    resources = container.get("resources") or {}
    for member, defaults in given.items():
        present = resources.get(member) or {}
        missing = sorted(name for name in defaults if name not in present)
        if missing:
            resources = {**resources, member: {**present, **{name: defaults[name] for name in missing}}}
            container = {**container, "resources": resources}
            notes.append(f"{', '.join(missing)} {member.removesuffix('s')} for {kind} {container.get('name', '')}")
    return container


def violations_of_pod(limit_range: JsonObject, spec: JsonObject) -> Iterator[str]:
    """What the LimitRange refuses of a pod's specification."""
    for limit in limit_range["spec"].get("limits") or ():
        match limit.get("type"):
            case "Container":
                for key, _ in _CONTAINERS:
                    for container in spec.get(key) or ():
                        yield from violations(limit, OF_PODS, "Container", _usage(container))
            case "Pod":
                usage = RequestedResources(pod_usage(spec, "requests"), pod_usage(spec, "limits"))
                yield from violations(limit, OF_PODS, "Pod", usage)


def violations_of_claim(limit_range: JsonObject, spec: JsonObject, old: JsonObject | None = None) -> Iterator[str]:
    """What the LimitRange refuses of a claim's specification.

    Requests that the old claim has too are not checked again (kubernetes 142170).
    """
    usage = RequestedResources(_usage(spec).requests, {})
    before = _usage(old or {}).requests
    kept = frozenset(name for name, request in usage.requests.items() if before.get(name) == request)
    for limit in limit_range["spec"].get("limits") or ():
        if limit.get("type") == "PersistentVolumeClaim":
            yield from violations(limit, OF_CLAIMS, "PersistentVolumeClaim", usage, kept)


def _usage(holder: JsonObject) -> RequestedResources:
    resources = holder.get("resources") or {}
    return RequestedResources(quantities(resources.get("requests")), quantities(resources.get("limits")))
