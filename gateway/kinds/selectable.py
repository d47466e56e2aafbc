"""Table of the fields that field selectors may name for each kind, and the paths of their values in the object.


All kinds have metadata.name and metadata.namespace ("Field Selectors"). The others come from kube-apiserver: the field
label conversion of the kind, and the selectable fields of its strategy. They are not in the strategies here, because
reads do not import strategies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gateway.kinds.identity import GroupResource
from gateway.kinds.shared_attributes import FieldSet, alike
from gateway.selectors.fields import DEFAULT, METADATA_FIELDS, Selectable
from storage.entry import LabelsAndFields, LabelsAndFieldsOf

FieldValue = Callable[[dict[str, Any]], str]


def _at(path: str, default: str = "") -> FieldValue:
    """A function that reads the value at a dotted path; numbers and booleans as Go prints them."""
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


def _paths(*paths: str) -> dict[str, FieldValue]:
    return {path: _at(path) for path in paths}


_UNSUPPORTED = "field label not supported: {label}"
_EVENT = (
    "involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid",
    "involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath", "reason", "type",
)  # fmt: skip

# the values of selectable fields in stored objects, beyond metadata
VALUES: dict[GroupResource, dict[str, FieldValue]] = {
    GroupResource("", "pods"): {
        **_paths(
            "spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "status.phase"
        ),
        "spec.hostNetwork": _at("spec.hostNetwork", "false"),
        "status.podIP": _pod_ip,
        "status.nominatedNodeName": _at("status.nominatedNodeName"),
    },
    GroupResource("", "nodes"): {"spec.unschedulable": _at("spec.unschedulable", "false")},
    GroupResource("", "replicationcontrollers"): {"status.replicas": _at("status.replicas", "0")},
    GroupResource("batch", "jobs"): {"status.successful": _at("status.succeeded", "0")},
    GroupResource("", "secrets"): _paths("type"),
    GroupResource("", "services"): _paths("spec.clusterIP", "spec.type"),
    GroupResource("", "namespaces"): {"status.phase": _at("status.phase"), "name": _at("metadata.name")},
    GroupResource("", "events"): {
        **_paths(*_EVENT, "reportingComponent"),
        "source": _event_source,
    },
    GroupResource("certificates.k8s.io", "certificatesigningrequests"): _paths("spec.signerName"),
    GroupResource("certificates.k8s.io", "clustertrustbundles"): _paths("spec.signerName"),
    GroupResource("certificates.k8s.io", "podcertificaterequests"): _paths(
        "spec.signerName", "spec.podName", "spec.nodeName"
    ),
    GroupResource("resource.k8s.io", "resourceslices"): _paths("spec.nodeName", "spec.driver", "spec.pool.name"),
    GroupResource("", "persistentvolumes"): {"name": _at("metadata.name")},
    GroupResource("", "persistentvolumeclaims"): {"name": _at("metadata.name")},
}


def _named(*names: str, refusal: str = _UNSUPPORTED, **aliases: str) -> Selectable:
    return Selectable({**{name: name for name in names}, **aliases}, refusal)


_EVENTS_GROUP = {
    f"regarding.{part}": f"involvedObject.{part}"
    for part in ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
}

# the names of fields that a request may use
NAMES: dict[GroupResource, Selectable] = {
    GroupResource("", "pods"): _named(
        *METADATA_FIELDS, *VALUES[GroupResource("", "pods")], "status.podIPs", **{"spec.host": "spec.nodeName"}
    ),
    GroupResource("", "nodes"): _named("metadata.name", "spec.unschedulable"),
    GroupResource("", "replicationcontrollers"): _named(*METADATA_FIELDS, "status.replicas"),
    GroupResource("batch", "jobs"): _named(
        *METADATA_FIELDS, "status.successful", refusal="field label {quoted} not supported for Job"
    ),
    GroupResource("", "secrets"): _named(*METADATA_FIELDS, "type"),
    GroupResource("", "services"): _named(*METADATA_FIELDS, "spec.clusterIP", "spec.type"),
    GroupResource("", "namespaces"): _named("metadata.name", "status.phase"),
    GroupResource("", "events"): _named(*METADATA_FIELDS, *_EVENT, "reportingComponent", "source"),
    GroupResource("events.k8s.io", "events"): _named(
        *METADATA_FIELDS, "reason", "type", **_EVENTS_GROUP, reportingController="reportingComponent"
    ),
    GroupResource("certificates.k8s.io", "certificatesigningrequests"): _named("metadata.name", "spec.signerName"),
    GroupResource("certificates.k8s.io", "clustertrustbundles"): _named("metadata.name", "spec.signerName"),
    GroupResource("certificates.k8s.io", "podcertificaterequests"): _named(
        "metadata.name", "spec.signerName", "spec.podName", "spec.nodeName"
    ),
    GroupResource("resource.k8s.io", "resourceslices"): _named(
        "metadata.name", "spec.nodeName", "spec.driver", "spec.pool.name",
        refusal="field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: {label}",
    ),
}  # fmt: skip

_SLICES = GroupResource("resource.k8s.io", "resourceslices")


def names_of(resource: GroupResource, enabled: Callable[[str], bool]) -> Selectable:
    """The fields that selectors may name. `enabled` says of the name of a change whether the release has it."""
    found = NAMES.get(resource, DEFAULT)
    if resource == _SLICES and not enabled("SlicesSelectedByPool"):
        return found._replace(names={name: path for name, path in found.names.items() if name != "spec.pool.name"})
    return found


def labels_and_fields_of(values: Mapping[str, FieldValue]) -> LabelsAndFieldsOf:
    """A function that reads the labels and the selectable fields of an object; `values` are the fields of its kind."""

    def read(obj: dict[str, Any]) -> LabelsAndFields:
        metadata = obj.get("metadata", {})
        others = {"metadata.namespace": metadata.get("namespace", "")}
        for name, value in values.items():
            others[name] = value(obj)
        return LabelsAndFields(alike(metadata.get("labels") or {}), FieldSet(metadata.get("name", ""), alike(others)))

    return read
