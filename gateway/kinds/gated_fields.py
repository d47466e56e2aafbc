"""Fields of built-in kinds that depend on a feature gate: while the gate is off, a write drops them.

A field stays if the stored object has it, so that switching a gate off loses no data (page "Changing the API" of the
Kubernetes community, on fields of alpha features). Pod fields whose gate is off in every minor are in
`gateway.validation.pod_features`; list attributes of ResourceSlices and fields of PersistentVolumeClaims are in their
strategies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from gateway.jsontypes import JsonObject
from gateway.kinds.identity import GroupResource
from gateway.release.gates import Enabled


class Gated(NamedTuple):
    """The fields of a gate, as dotted paths; `[]` stands for each item of a list or map.

    All of them stay if the stored object has one of them. `subresource` is the one whose writes set them. `since` is
    the change with which the fields came, for fields that some minors do not have.
    """

    gate: str
    paths: tuple[str, ...]
    subresource: str = ""
    since: str = ""


_LEASES = "CoordinatedLeaderElection"
_ADDED = "GatedFieldsAdded"
_HEALTH, _JOBS = "CSIVolumeHealth", "WorkloadWithJob"
_TAINTS, _CONSUMABLE, _BINDING = "DRADeviceTaints", "DRAConsumableCapacity", "DRADeviceBindingConditions"
_RESULTS, _NODES = "status.allocation.devices.results[]", ("nodeName", "nodeSelector", "allNodes")
_CONSUMED = (f"{_RESULTS}.shareID", f"{_RESULTS}.consumedCapacity", "status.devices[].shareID")
_TERMINATING = Gated("DeploymentReplicaSetTerminatingReplicas", ("status.terminatingReplicas",), "status")


def _of_requests(devices: str, field: str) -> tuple[str, ...]:
    """A field of the requests and subrequests of a claim; `devices` is the path of their holder."""
    return f"{devices}.requests[].exactly.{field}", f"{devices}.requests[].firstAvailable[].{field}"


def _derived(devices: str) -> Gated:
    """The derived attributes of requests; `devices` is the path of the requests' holder."""
    return Gated("DRADerivedAttributes", _of_requests(devices, "derivedAttributes"))


def _taints(devices: str) -> Gated:
    return Gated(_TAINTS, _of_requests(devices, "tolerations"))


def _consumable(devices: str, *others: str, subresource: str = "") -> Gated:
    paths = (f"{devices}.constraints[].distinctAttribute", *_of_requests(devices, "capacity"), *others)
    return Gated(_CONSUMABLE, paths, subresource)


def _in_devices(*names: str) -> tuple[str, ...]:
    return tuple(f"spec.devices[].{name}" for name in names)


FIELDS: Mapping[GroupResource, tuple[Gated, ...]] = {
    GroupResource("", "nodes"): (
        Gated("InPlacePodVerticalScalingSchedulerPreemption", ("spec.podPreemptionPolicy",), since=_ADDED),
        Gated("KubeletInUserNamespace", ("status.nodeInfo.runningInUserNamespace",), "status", _ADDED),
    ),
    GroupResource("", "persistentvolumeclaims"): (Gated(_HEALTH, ("status.healthStatus",), "status", _ADDED),),
    GroupResource("", "pods"): (
        Gated(_HEALTH, ("status.volumeHealth",), "status", _ADDED),
        Gated("DRAExtendedResource", ("status.extendedResourceClaimStatus",), "status"),
    ),
    GroupResource("apps", "deployments"): (_TERMINATING,),
    GroupResource("apps", "replicasets"): (_TERMINATING,),
    GroupResource("apps", "statefulsets"): (
        Gated("MaxUnavailableStatefulSet", ("spec.updateStrategy.rollingUpdate.maxUnavailable",)),
    ),
    GroupResource("autoscaling", "horizontalpodautoscalers"): (
        Gated("HPAConfigurableTolerance", ("spec.behavior.scaleDown.tolerance", "spec.behavior.scaleUp.tolerance")),
    ),
    GroupResource("batch", "cronjobs"): (Gated(_JOBS, ("spec.jobTemplate.spec.scheduling",), since=_ADDED),),
    GroupResource("batch", "jobs"): (Gated(_JOBS, ("spec.scheduling",), since=_ADDED),),
    GroupResource("coordination.k8s.io", "leases"): (
        Gated(_LEASES, ("spec.strategy",)),
        Gated(_LEASES, ("spec.preferredHolder",)),
    ),
    GroupResource("resource.k8s.io", "deviceclasses"): (Gated("DRAExtendedResource", ("spec.extendedResourceName",)),),
    GroupResource("resource.k8s.io", "resourceclaims"): (
        _derived("spec.devices"),
        _taints("spec.devices"),
        _consumable("spec.devices"),
        _consumable("spec.devices", *_CONSUMED, subresource="status"),
        Gated(_BINDING, (f"{_RESULTS}.bindingConditions", f"{_RESULTS}.bindingFailureConditions"), "status"),
        Gated("DRAOptionalNodeOperations", ("status.allocation.devices.results[].skipNodeOperations",), "status"),
    ),
    GroupResource("resource.k8s.io", "resourceclaimtemplates"): (
        _derived("spec.spec.devices"),
        _taints("spec.spec.devices"),
        _consumable("spec.spec.devices"),
    ),
    GroupResource("resource.k8s.io", "resourceslices"): (
        Gated(_TAINTS, ("spec.devices[].taints",)),
        Gated(
            "DRAPartitionableDevices",
            ("spec.sharedCounters", "spec.perDeviceNodeSelection", *_in_devices("consumesCounters", *_NODES)),
        ),
        Gated(_BINDING, _in_devices("bindingConditions", "bindingFailureConditions", "bindsToNode")),
        Gated(_CONSUMABLE, _in_devices("allowMultipleAllocations", "capacity[].requestPolicy")),
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
    GroupResource("storage.k8s.io", "csinodes"): (Gated(_HEALTH, ("status.storageHealth",), "status"),),
}
"""The gated fields of each resource."""

_CONTAINERS = ("containers[]", "initContainers[]", "ephemeralContainers[]")
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_HANDLERS = (*_PROBES, "lifecycle.postStart", "lifecycle.preStop")
_FILES = ("secret", "configMap", "downwardAPI")
_SOURCES = (*(f"{each}.items[]" for each in _FILES), "serviceAccountToken", "clusterTrustBundle", "podCertificate")


def _in_containers(*paths: str) -> tuple[str, ...]:
    return tuple(f"{each}.{path}" for each in _CONTAINERS for path in paths)


OF_PODS = (
    Gated("HostnameOverride", ("hostnameOverride",)),
    Gated("ClusterTrustBundleProjection", ("volumes[].projected.sources[].clusterTrustBundle",)),
    Gated("PodCertificateRequest", ("volumes[].projected.sources[].podCertificate",)),
    Gated("EnvFiles", _in_containers("env[].valueFrom.fileKeyRef")),
    Gated("EmptyDirVolumeMode", ("volumes[].emptyDir.mode",), since=_ADDED),
    Gated("VolumeBindMountOptions", _in_containers("volumeMounts[].bindMountOptions"), since=_ADDED),
    Gated("GRPCContainerProbeTLS", _in_containers(*(f"{each}.grpc.mode" for each in _PROBES)), since=_ADDED),
    Gated("H2CContainerProbe", _in_containers(*(f"{each}.httpGet.protocol" for each in _HANDLERS)), since=_ADDED),
    Gated("EvictionRequestAPI", ("evictionResponders",), since=_ADDED),
    Gated(
        "AtomicWriteVolumeUserFields",
        (
            *(f"volumes[].{each}.defaultUser" for each in (*_FILES, "projected")),
            *(f"volumes[].{each}.items[].user" for each in _FILES),
            *(f"volumes[].projected.sources[].{each}.user" for each in _SOURCES),
        ),
        since=_ADDED,
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
            for each in OF_PODS:
                paths = tuple(f"{place}.{path}" for path in each.paths)
                yield each._replace(paths=paths, subresource=subresource)


def drop_of(resource: GroupResource, enabled: Enabled, subresource: str = "") -> Drop | None:
    """The function that drops the fields of a resource whose gates are off; None if there are none."""
    off = [
        each.paths
        for each in gated(resource)
        if each.subresource == subresource and not enabled(each.gate) and (not each.since or enabled(each.since))
    ]
    if not off:
        return None
    root = _Place()
    for number, paths in enumerate(off):
        for path in paths:
            root.add(path.split("."), number)
    members = {name for _, name in root.fields} | set(root.below)

    def drop(obj: JsonObject, old: JsonObject | None) -> None:
        if old is not None and all(obj.get(each) is old.get(each) for each in members):
            return  # a patch did not touch these members
        if not (found := root.find(obj, [])):
            return
        kept = set[int]() if old is None else {number for number, _, _ in root.find(old, [])}
        for number, holder, name in found:
            if number not in kept:
                del holder[name]

    return drop


Found = tuple[int, JsonObject, str]
"""A field that an object has: the number of its gate, the object that has it, its name."""


def _items(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value


class _Place:
    """A place in objects of a type: the gated fields that are there, and the places below.

    All paths of a type are one tree, so that an object is walked once, and only where it has members.
    """

    __slots__ = ("below", "fields")

    def __init__(self) -> None:
        self.fields: list[tuple[int, str]] = []  # the number of the gate, the name of the field
        self.below: dict[str, tuple[bool, _Place]] = {}  # by member: whether its items are walked

    def add(self, path: list[str], number: int) -> None:
        """Adds the rest of a path, whose last name is the field's."""
        if len(path) == 1:
            self.fields.append((number, path[0]))
            return
        name = path[0].removesuffix("[]")
        _, place = self.below.setdefault(name, (path[0].endswith("[]"), _Place()))
        place.add(path[1:], number)

    def find(self, holder: JsonObject, found: list[Found]) -> list[Found]:
        """Adds each gated field that an object has, and returns the list."""
        for number, name in self.fields:
            if name in holder:
                found.append((number, holder, name))
        for member, (has_items, place) in self.below.items():
            value = holder.get(member)
            if value:
                for each in _items(value) if has_items else (value,):
                    if isinstance(each, dict):
                        place.find(each, found)
        return found
