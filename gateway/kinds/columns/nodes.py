"""Columns of nodes, namespaces and component statuses."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.kinds.columns.model import (
    AGE,
    NAME,
    NONE,
    UNKNOWN,
    Cell,
    Columns,
    age,
    column,
    joined,
    name_of,
    part,
    wide,
)

_ROLE_PREFIX = "node-role.kubernetes.io/"
_ROLE = "kubernetes.io/role"


def _node(obj: JsonObject) -> list[Cell]:
    status = part(obj, "status")
    info = part(status, "nodeInfo")
    architecture = info.get("architecture")
    return [
        name_of(obj),
        _status(obj),
        joined(sorted(_roles(obj["metadata"].get("labels") or {}))),
        age(obj),
        info.get("kubeletVersion", ""),
        _address(status, "InternalIP"),
        _address(status, "ExternalIP"),
        info.get("osImage") or UNKNOWN,
        (info.get("kernelVersion") or UNKNOWN) + (f" ({architecture})" if architecture else ""),
        info.get("containerRuntimeVersion") or UNKNOWN,
    ]


def _status(obj: JsonObject) -> str:
    ready = [one for one in part(obj, "status").get("conditions") or () if one.get("type") == "Ready"]
    status = ("Ready" if ready[-1].get("status") == "True" else "NotReady") if ready else "Unknown"
    return f"{status},SchedulingDisabled" if part(obj, "spec").get("unschedulable") else status


def _roles(labels: dict[str, str]) -> set[str]:
    roles = {key.removeprefix(_ROLE_PREFIX) for key in labels if key.startswith(_ROLE_PREFIX)}
    return (roles | {labels.get(_ROLE, "")}) - {""}


def _address(status: JsonObject, type_: str) -> str:
    for address in status.get("addresses") or ():
        if address.get("type") == type_:
            found: str = address.get("address", "")
            return found
    return NONE


def _namespace(obj: JsonObject) -> list[Cell]:
    return [name_of(obj), part(obj, "status").get("phase", ""), age(obj)]


def _component_status(obj: JsonObject) -> list[Cell]:
    for condition in obj.get("conditions") or ():
        if condition.get("type") == "Healthy":
            status = "Healthy" if condition.get("status") == "True" else "Unhealthy"
            return [name_of(obj), status, condition.get("message", ""), condition.get("error", "")]
    return [name_of(obj), "Unknown", "", ""]


COLUMNS = {
    ("", "Node"): Columns(
        (
            NAME,
            column("Status"),
            column("Roles"),
            AGE,
            column("Version", "core.v1.NodeSystemInfo.kubeletVersion"),
            wide("Internal-IP", "core.v1.NodeStatus.addresses"),
            wide("External-IP", "core.v1.NodeStatus.addresses"),
            wide("OS-Image", "core.v1.NodeSystemInfo.osImage"),
            wide("Kernel-Version", "core.v1.NodeSystemInfo.kernelVersion"),
            wide("Container-Runtime", "core.v1.NodeSystemInfo.containerRuntimeVersion"),
        ),
        _node,
    ),
    ("", "Namespace"): Columns((NAME, column("Status"), AGE), _namespace),
    ("", "ComponentStatus"): Columns((NAME, column("Status"), column("Message"), column("Error")), _component_status),
}
