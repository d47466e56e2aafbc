"""Canonical values of servers of another minor, or with other feature gates, whose form for readers differs from the
stored form.

kube-apiserver decodes and defaults each object that it reads, so a default that came with a minor is shown in older
objects too, and a field that the minor does not know is not shown. This server takes canonical values as they are. For
the kinds whose defaults or members differ between the served minors, it looks at the bytes first, and decodes what
differs.

A name before a colon, without escaped quotes, is a member: text inside of a string has escaped quotes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from gateway.kinds.identity import GroupResource
from gateway.release.gates import Enabled

IsOutdated = Callable[[bytes], bool]
"""Takes a canonical value: whether its object is read otherwise than it was stored."""


class _Member(NamedTuple):
    """A member that all objects of a kind have that can have it, from a gate or change on.

    `lacks` finds values without it, where it is served. `has` finds values with it, where its kind does not know it.
    """

    came_with: str
    lacks: IsOutdated
    has: IsOutdated | None = None


_PREVENTS = b'"preventPodSchedulingIfMissing":'  # a label or an annotation of this name has a text, which begins with "
_STATUS = b',"status":{'
_PARTITION_ALONE = re.compile(rb'"rollingUpdate":\{"partition":\d+\}').search  # it comes before maxUnavailable

_MEMBERS: Mapping[GroupResource, _Member] = {
    GroupResource("apps", "statefulsets"): _Member(
        "MaxUnavailableStatefulSet", lambda value: _PARTITION_ALONE(value) is not None
    ),
    GroupResource("storage.k8s.io", "csidrivers"): _Member(
        "VolumeLimitScaling", lambda value: _PREVENTS + b"f" not in value and _PREVENTS + b"t" not in value
    ),
    GroupResource("storage.k8s.io", "csinodes"): _Member(
        "GatedFieldsAdded", lambda value: _STATUS not in value, lambda value: _STATUS in value
    ),
}


_CAME = "GatedFieldsAdded"  # with 1.37
_OF_PODS = "bindMountOptions", "defaultUser", "evictionResponders", "mode", "user"
_IN_TEMPLATES = ("podtemplates", "replicationcontrollers"), ("daemonsets", "deployments", "replicasets")
_LATER: Mapping[GroupResource, tuple[str, ...]] = {
    GroupResource("", "nodes"): ("podPreemptionPolicy", "runningInUserNamespace"),
    GroupResource("", "persistentvolumeclaims"): ("healthStatus",),
    GroupResource("", "pods"): (*_OF_PODS, "mapping", "overhead", "volumeHealth"),
    **{GroupResource("", each): _OF_PODS for each in _IN_TEMPLATES[0]},
    **{GroupResource("apps", each): _OF_PODS for each in _IN_TEMPLATES[1]},
    GroupResource("apps", "statefulsets"): (*_OF_PODS, "healthStatus"),
    GroupResource("autoscaling", "horizontalpodautoscalers"): ("observedGeneration",),
    GroupResource("batch", "cronjobs"): (*_OF_PODS, "scheduling"),
    GroupResource("batch", "jobs"): (*_OF_PODS, "scheduling"),
    GroupResource("resource.k8s.io", "resourceclaims"): ("derivedAttributes", "skipNodeOperations"),
    GroupResource("resource.k8s.io", "resourceclaimtemplates"): ("derivedAttributes",),
    GroupResource("resource.k8s.io", "resourceslices"): (
        *("compatibilityGroups", "nodeAllocatableResources", "partitionTypeAttribute", "skipNodeOperations"),
    ),
}
"""The members that came with 1.37. Other members may have these names: then the value is decoded, and does not change.
"""
# "protocol" is a member of HTTP probes since 1.37; that of ports has one of these values.
_LATER_PROTOCOL = re.compile(rb'"protocol":"(?!TCP"|UDP"|SCTP")').search


def outdated(resource: GroupResource, enabled: Enabled) -> IsOutdated | None:
    """The test of a kind's canonical values under a release; None if every value is read as it was stored."""
    member, later = _MEMBERS.get(resource), () if enabled(_CAME) else _LATER.get(resource, ())
    test = None if member is None else member.lacks if enabled(member.came_with) else member.has
    if not later:
        return test
    names = [f'"{name}":'.encode() for name in later]
    has_probes = later[: len(_OF_PODS)] == _OF_PODS

    def is_outdated(value: bytes) -> bool:
        for name in names:
            if name in value:
                return True
        if has_probes and _LATER_PROTOCOL(value) is not None:
            return True
        return test is not None and test(value)

    return is_outdated
