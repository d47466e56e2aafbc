"""Columns of the kinds of resource.k8s.io."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.kinds.columns.configuration import name_and_age
from gateway.kinds.columns.model import AGE, NAME, NONE, Cell, Columns, age, column, integer, name_of, part, since

_GROUP = "resource.k8s.io"
_DEVICES = ("totalDevices", "availableDevices", "allocatedDevices", "unavailableDevices")


def _claim(obj: JsonObject) -> list[Cell]:
    status, deleted = part(obj, "status"), bool(obj["metadata"].get("deletionTimestamp"))
    states = ["deleted"] if deleted else []
    if status.get("allocation") is not None:
        states += ["allocated", "reserved"] if status.get("reservedFor") else ["allocated"]
    elif not deleted:
        states.append("pending")
    return [name_of(obj), ",".join(states), age(obj)]


def _slice(obj: JsonObject) -> list[Cell]:
    spec = part(obj, "spec")
    pool = part(spec, "pool").get("name", "")
    return [name_of(obj), spec.get("nodeName", ""), spec.get("driver", ""), pool, age(obj)]


def _taint_rule(obj: JsonObject) -> list[Cell]:
    taint = part(obj, "spec", "taint")
    added = taint.get("timeAdded")
    return [
        name_of(obj),
        taint.get("key", ""),
        taint.get("value", ""),
        taint.get("effect", ""),
        since(added) if added else "",
        age(obj),
    ]


def _pool_status(obj: JsonObject) -> list[Cell]:
    driver, status = part(obj, "spec").get("driver", ""), obj.get("status")
    if status is None:
        return [name_of(obj), driver, "-", "-", "-", "-", "-", 0, "Pending", NONE]
    state, completed = _progress(status)
    pools, count = status.get("pools") or (), status.get("poolCount", 0)
    sums = ["-"] * 5
    if state != "Failed":
        sums = [str(sum(pool.get(name, 0) for pool in pools)) for name in _DEVICES]
        sums.append(str(sum("validationError" in pool for pool in pools)))
    if state == "Complete" and count > len(pools):
        state = f"Complete ({len(pools)}/{count} pools)"
    return [name_of(obj), driver, *sums, count, state, completed]


def _progress(status: JsonObject) -> tuple[str, Cell]:
    for condition in status.get("conditions") or ():
        if condition.get("status") == "True":
            if condition.get("type") == "Complete":
                return "Complete", since(condition.get("lastTransitionTime"))
            if condition.get("type") == "Failed":
                return "Failed", NONE
    return "Pending", NONE


_TAINT = "resource.v1.DeviceTaint"
COLUMNS = {
    (_GROUP, "DeviceClass"): Columns((NAME, AGE), name_and_age),
    (_GROUP, "ResourceClaim"): Columns((NAME, column("State"), AGE), _claim),
    (_GROUP, "ResourceClaimTemplate"): Columns((NAME, AGE), name_and_age),
    (_GROUP, "ResourceSlice"): Columns(
        (
            NAME,
            column("Node", "resource.v1.ResourceSliceSpec.nodeName"),
            column("Driver", "resource.v1.ResourceSliceSpec.driver"),
            column("Pool", "resource.v1.ResourcePool.name"),
            AGE,
        ),
        _slice,
    ),
    (_GROUP, "DeviceTaintRule"): Columns(
        (
            NAME,
            column("Key", f"{_TAINT}.key"),
            column("Value", f"{_TAINT}.value"),
            column("Effect", f"{_TAINT}.effect"),
            column("TimeAdded", f"{_TAINT}.timeAdded"),
            AGE,
        ),
        _taint_rule,
    ),
    (_GROUP, "ResourcePoolStatusRequest"): Columns(
        (
            NAME,
            column("Driver"),
            column("Total"),
            column("Available"),
            column("Allocated"),
            column("Unavailable"),
            column("Errors"),
            integer("Pools"),
            column("Status"),
            column("Completed"),
        ),
        _pool_status,
    ),
}
