"""Fields of built-in kinds that depend on a feature gate: while the gate is off, a write drops them.

A field stays if the stored object has it, so that switching a gate off loses no data (page "Changing the API" of the
Kubernetes community, on fields of alpha features). Pod fields whose gate is off in every minor are in
`gateway.validation.pod_features`; list attributes of ResourceSlices and fields of PersistentVolumeClaims are in their
strategies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from gateway.jsontypes import JsonObject
from gateway.kinds.identity import GroupResource
from gateway.release.gates import Enabled


class Gated(NamedTuple):
    """The fields of a gate, as dotted paths; `[]` stands for each item of a list.

    All of them stay if the stored object has one of them. `subresource` is the one whose writes set them.
    """

    gate: str
    paths: tuple[str, ...]
    subresource: str = ""


_LEASES = "CoordinatedLeaderElection"
_TERMINATING = Gated("DeploymentReplicaSetTerminatingReplicas", ("status.terminatingReplicas",), "status")


def _derived(devices: str) -> Gated:
    """The derived attributes of requests; `devices` is the path of the requests' holder."""
    requests = f"{devices}.requests[]"
    paths = (f"{requests}.exactly.derivedAttributes", f"{requests}.firstAvailable[].derivedAttributes")
    return Gated("DRADerivedAttributes", paths)


FIELDS: Mapping[GroupResource, tuple[Gated, ...]] = {
    GroupResource("apps", "deployments"): (_TERMINATING,),
    GroupResource("apps", "replicasets"): (_TERMINATING,),
    GroupResource("apps", "statefulsets"): (
        Gated("MaxUnavailableStatefulSet", ("spec.updateStrategy.rollingUpdate.maxUnavailable",)),
    ),
    GroupResource("autoscaling", "horizontalpodautoscalers"): (
        Gated("HPAConfigurableTolerance", ("spec.behavior.scaleDown.tolerance", "spec.behavior.scaleUp.tolerance")),
    ),
    GroupResource("coordination.k8s.io", "leases"): (
        Gated(_LEASES, ("spec.strategy",)),
        Gated(_LEASES, ("spec.preferredHolder",)),
    ),
    GroupResource("resource.k8s.io", "resourceclaims"): (
        _derived("spec.devices"),
        Gated("DRAOptionalNodeOperations", ("status.allocation.devices.results[].skipNodeOperations",), "status"),
    ),
    GroupResource("resource.k8s.io", "resourceclaimtemplates"): (_derived("spec.spec.devices"),),
    GroupResource("resource.k8s.io", "resourceslices"): (
        Gated("DRADeviceCompatibilityGroups", ("spec.devices[].consumesCounters[].compatibilityGroups",)),
        Gated(
            "DRANodeAllocatableResources",
            ("spec.devices[].nodeAllocatableResources", "spec.devices[].nodeAllocatableResourceMappings"),
        ),
        Gated("DRAPartitionableDevicesType", ("spec.partitionTypeAttribute",)),
        Gated("DRAOptionalNodeOperations", ("spec.skipNodeOperations",)),
    ),
    GroupResource("storage.k8s.io", "csidrivers"): (
        Gated("VolumeLimitScaling", ("spec.preventPodSchedulingIfMissing",)),
        Gated("CSIServiceAccountTokenSecrets", ("spec.serviceAccountTokenInSecrets",)),
    ),
    GroupResource("storage.k8s.io", "csinodes"): (Gated("CSIVolumeHealth", ("status.storageHealth",), "status"),),
}
"""The gated fields of each resource."""

OF_PODS = (
    Gated("HostnameOverride", ("hostnameOverride",)),
    Gated("ClusterTrustBundleProjection", ("volumes[].projected.sources[].clusterTrustBundle",)),
    Gated("PodCertificateRequest", ("volumes[].projected.sources[].podCertificate",)),
    Gated(
        "EnvFiles",
        tuple(
            f"{each}[].env[].valueFrom.fileKeyRef" for each in ("containers", "initContainers", "ephemeralContainers")
        ),
    ),
)
"""The gated fields of a pod spec, as paths within it."""

_TEMPLATE = "spec.template.spec"
SPECIFICATIONS: Mapping[GroupResource, str] = {
    GroupResource("", "pods"): "spec",
    GroupResource("", "podtemplates"): "template.spec",
    GroupResource("", "replicationcontrollers"): _TEMPLATE,
    GroupResource("apps", "daemonsets"): _TEMPLATE,
    GroupResource("apps", "deployments"): _TEMPLATE,
    GroupResource("apps", "replicasets"): _TEMPLATE,
    GroupResource("apps", "statefulsets"): _TEMPLATE,
    GroupResource("batch", "cronjobs"): "spec.jobTemplate.spec.template.spec",
    GroupResource("batch", "jobs"): _TEMPLATE,
}
"""The path of the pod spec in each resource that has one."""

Drop = Callable[[JsonObject, JsonObject | None], None]
"""Drops fields of the new object, in place; the second argument is the stored object, None at a create."""


def gated(resource: GroupResource) -> Iterator[Gated]:
    """Yields all gated fields of a resource, including those of its pod spec."""
    yield from FIELDS.get(resource, ())
    if (place := SPECIFICATIONS.get(resource)) is not None:
        for subresource in ("", "ephemeralcontainers") if place == "spec" else ("",):
            for gate, paths, _ in OF_PODS:
                yield Gated(gate, tuple(f"{place}.{path}" for path in paths), subresource)


def drop_of(resource: GroupResource, enabled: Enabled, subresource: str = "") -> Drop | None:
    """The function that drops the fields of a resource whose gates are off; None if there are none."""
    off = [
        [_split(path) for path in each.paths]
        for each in gated(resource)
        if each.subresource == subresource and not enabled(each.gate)
    ]
    if not off:
        return None
    shared: dict[Way, list[tuple[int, str]]] = {}  # a path that several gates share is followed once
    for number, fields in enumerate(off):
        for way, name in fields:
            shared.setdefault(way, []).append((number, name))
    members = {way[0][0] if way else name for fields in off for way, name in fields}

    def drop(obj: JsonObject, old: JsonObject | None) -> None:
        if old is not None and all(obj.get(each) is old.get(each) for each in members):
            return  # a patch did not touch these members
        found: dict[int, list[tuple[JsonObject, str]]] = {}
        for way, wanted in shared.items():
            for holder in _holders(obj, way):
                for number, name in wanted:
                    if name in holder:
                        found.setdefault(number, []).append((holder, name))
        for number, there in found.items():
            if old is not None and any(name in holder for way, name in off[number] for holder in _holders(old, way)):
                continue
            for holder, name in there:
                del holder[name]

    return drop


Way = tuple[tuple[str, bool], ...]
"""The steps of a path: the name of each member, and whether it is a list whose items are followed."""


def _split(path: str) -> tuple[Way, str]:
    """The path to the object that has the field, and the field's name."""
    *above, name = path.split(".")
    return tuple((each.removesuffix("[]"), each.endswith("[]")) for each in above), name


def _holders(value: JsonObject, way: Way) -> list[JsonObject]:
    """The objects at a path."""
    found = [value]
    for name, is_list in way:
        below = [each[name] for each in found if each.get(name)]
        found = [each for item in below for each in (item if is_list else (item,)) if isinstance(each, dict)]
    return found
