"""Error messages of Go's scheme for kinds that it does not know."""

from __future__ import annotations

from gateway.kinds.unserved_versions import reads_unserved
from gateway.validation.field import go_quote

SCHEME = 'in scheme "pkg/runtime/scheme.go:111"'
_GROUP_PACKAGES = {
    "": "core",
    "admissionregistration.k8s.io": "admissionregistration",
    "events.k8s.io": "core",
    "internal.apiserver.k8s.io": "apiserverinternal",
}
# kinds of core/v1 in Go's scheme that no OpenAPI document has, since no resource serves them
_UNSERVED = frozenset(
    {
        *("List", "RangeAllocation", "SerializedReference", "PodStatusResult", "PodLogOptions", "PodExecOptions"),
        *("PodAttachOptions", "PodPortForwardOptions", "PodProxyOptions", "NodeProxyOptions", "ServiceProxyOptions"),
    }
)
_UNVERSIONED = frozenset({"Status", "APIVersions", "APIGroup", "APIGroupList", "APIResourceList"})  # of every version
_OF_META = frozenset(
    {
        *("ListOptions", "GetOptions", "CreateOptions", "UpdateOptions", "PatchOptions", "WatchEvent"),
        *("Table", "TableOptions", "PartialObjectMetadata", "PartialObjectMetadataList"),
    }
)
_NOWHERE = frozenset({"Table", "TableOptions", "PartialObjectMetadata", "PartialObjectMetadataList", "APIResource"})
_META = "meta.k8s.io/v1"
# kinds whose internal type is in another group
_MOVED = {
    ("extensions", "Deployment"): "apps",
    ("extensions", "DaemonSet"): "apps",
    ("extensions", "ReplicaSet"): "apps",
    ("extensions", "DeploymentRollback"): "apps",
    ("extensions", "Ingress"): "networking",
    ("extensions", "NetworkPolicy"): "networking",
    ("extensions", "Scale"): "autoscaling",
    ("apps", "Scale"): "autoscaling",
}


def is_registered(kind: str, version: str, catalogued: bool) -> bool:
    """Whether Go's scheme for objects knows a kind in a version; `catalogued`: whether the OpenAPI documents do."""
    if kind in _NOWHERE or (version == _META and kind not in _UNVERSIONED):
        return False
    return catalogued or (version in ("", "v1") and kind in _UNSERVED) or reads_unserved(kind, version)


def is_registered_of_meta(kind: str, version: str) -> bool:
    """Whether Go's scheme for options knows a kind in a version; "" means meta/v1."""
    if kind in _UNVERSIONED or kind in ("CreateOptions", "UpdateOptions"):
        return True
    return version in ("", _META) and kind in _OF_META


def unregistered(kind: str, version: str) -> str:
    """The error message of Go's scheme for a kind that it does not know in that version."""
    group, _, number = version.rpartition("/")
    if number == "__internal":
        return f"no kind {go_quote(kind)} is registered for the internal version of group {go_quote(group)} {SCHEME}"
    return f"no kind {go_quote(kind)} is registered for version {go_quote(version)} {SCHEME}"


def internal_package(group: str) -> str:
    """The Go package of a group's internal types, which conversion errors name."""
    return _GROUP_PACKAGES.get(group) or group.partition(".")[0]


def has_type_of(kind: str, group: str, other: str) -> bool:
    """Whether the kind has the same internal type in two groups, so that Go converts between them."""

    def home(where: str) -> str:
        return _MOVED.get((where, kind.removesuffix("List"))) or internal_package(where)

    return home(group) == home(other)
