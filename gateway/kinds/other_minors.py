"""Canonical values of servers of another minor, or with other feature gates, that are read otherwise than stored.

kube-apiserver decodes and defaults each object that it reads, so a default that came with a minor is shown in older
objects too, and a field that the minor does not know is not shown. This server takes canonical values as they are. For
the few kinds whose defaults differ between the served minors, it looks at the bytes first, and decodes what differs.

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


def outdated(resource: GroupResource, enabled: Enabled) -> IsOutdated | None:
    """The test of a kind's canonical values under a release; None if every value is read as it was stored."""
    member = _MEMBERS.get(resource)
    if member is None:
        return None
    return member.lacks if enabled(member.came_with) else member.has
