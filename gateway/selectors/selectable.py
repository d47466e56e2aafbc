"""Facts: the fields that each kind lets select, and where their values are in the object.

metadata.name and metadata.namespace can be selected everywhere ("Field Selectors"); the rest is per kind, as each
kind's field label conversion and its strategy's selectable fields have it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gateway.selectors.fields import DEFAULT, METADATA_FIELDS, Selectable
from storage.entry import Attributes, AttributesOf

Value = Callable[[dict[str, Any]], str]


def _at(path: str, default: str = "") -> Value:
    """Reads a dotted path; numbers and booleans as Go prints them."""
    parts = path.split(".")

    def read(obj: dict[str, Any]) -> str:
        node: Any = obj
        for part in parts:
            node = node.get(part) if isinstance(node, dict) else None
        if node is None or node == "":
            return default
        return str(node).lower() if isinstance(node, bool) else str(node)

    return read


def _pod_ip(obj: dict[str, Any]) -> str:
    addresses = obj.get("status", {}).get("podIPs") or [{}]
    return str(addresses[0].get("ip", ""))


def _event_source(obj: dict[str, Any]) -> str:
    return _at("source.component")(obj) or _at("reportingComponent")(obj)


def _paths(*paths: str) -> dict[str, Value]:
    return {path: _at(path) for path in paths}


_UNSUPPORTED = "field label not supported: {label}"
_EVENT = (
    "involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid",
    "involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath", "reason", "type",
)  # fmt: skip

# storage prefix -> the fields of its objects beyond metadata
VALUES: dict[str, dict[str, Value]] = {
    "pods": {
        **_paths(
            "spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "status.phase"
        ),
        "spec.hostNetwork": _at("spec.hostNetwork", "false"),
        "status.podIP": _pod_ip,
        "status.nominatedNodeName": _at("status.nominatedNodeName"),
    },
    "minions": {"spec.unschedulable": _at("spec.unschedulable", "false")},
    "controllers": {"status.replicas": _at("status.replicas", "0")},
    "jobs": {"status.successful": _at("status.succeeded", "0")},
    "secrets": _paths("type"),
    "services/specs": _paths("spec.clusterIP", "spec.type"),
    "namespaces": {"status.phase": _at("status.phase"), "name": _at("metadata.name")},
    "events": {**_paths(*_EVENT), "reportingComponent": _at("reportingComponent"), "source": _event_source},
    "certificatesigningrequests": _paths("spec.signerName"),
    "resourceslices": _paths("spec.nodeName", "spec.driver"),
    "persistentvolumes": {"name": _at("metadata.name")},
    "persistentvolumeclaims": {"name": _at("metadata.name")},
}


def _named(*names: str, refusal: str = _UNSUPPORTED, **aliases: str) -> Selectable:
    return Selectable({**{name: name for name in names}, **aliases}, refusal)


_EVENTS_GROUP = {
    f"regarding.{part}": f"involvedObject.{part}"
    for part in ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
}

# (group, plural) -> what a request may name
NAMES: dict[tuple[str, str], Selectable] = {
    ("", "pods"): _named(
        *METADATA_FIELDS, *VALUES["pods"], "status.podIPs", **{"spec.host": "spec.nodeName"}
    ),
    ("", "nodes"): _named("metadata.name", "spec.unschedulable"),
    ("", "replicationcontrollers"): _named(*METADATA_FIELDS, "status.replicas"),
    ("batch", "jobs"): _named(
        *METADATA_FIELDS, "status.successful", refusal="field label {quoted} not supported for Job"
    ),
    ("", "secrets"): _named(*METADATA_FIELDS, "type"),
    ("", "services"): _named(*METADATA_FIELDS, "spec.clusterIP", "spec.type"),
    ("", "namespaces"): _named("metadata.name", "status.phase"),
    ("", "events"): _named(*METADATA_FIELDS, *_EVENT, "reportingComponent", "source"),
    ("events.k8s.io", "events"): _named(
        *METADATA_FIELDS, "reason", "type", **_EVENTS_GROUP, reportingController="reportingComponent"
    ),
    ("certificates.k8s.io", "certificatesigningrequests"): _named("metadata.name", "spec.signerName"),
    ("resource.k8s.io", "resourceslices"): _named(
        "metadata.name", "spec.nodeName", "spec.driver",
        refusal="field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: {label}",
    ),
}  # fmt: skip


def selectable(group: str, resource: str) -> Selectable:
    """What a field selector on a resource may name."""
    return NAMES.get((group, resource), DEFAULT)


def attributes_of(storage_prefix: str) -> AttributesOf:
    """How to read labels and field set out of the objects under a storage prefix."""
    values = VALUES.get(storage_prefix, {})

    def read(obj: dict[str, Any]) -> Attributes:
        metadata = obj.get("metadata", {})
        fields = {"metadata.name": metadata.get("name", ""), "metadata.namespace": metadata.get("namespace", "")}
        for name, value in values.items():
            fields[name] = value(obj)
        return Attributes(metadata.get("labels") or {}, fields)

    return read
