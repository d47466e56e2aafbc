"""Columns of pods and of pod templates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gateway.jsontypes import JsonObject
from gateway.kinds.columns.model import (
    AGE,
    NAME,
    NONE,
    Cell,
    Columns,
    age,
    column,
    containers,
    labels_text,
    name_of,
    since,
    wide,
)

_NODE_LOST = "NodeLost"
_COMPLETED = {  # phase -> reason and message of the row's condition
    "Succeeded": ("Succeeded", "The pod has completed successfully."),
    "Failed": ("Failed", "The pod failed."),
}


class _Tally(NamedTuple):
    """The sums over the containers of a pod, and the reason that the pod shows."""

    reason: str
    ready: int = 0
    restarts: int = 0
    restarted: str = ""  # when a container last ended before a restart


class _Init(NamedTuple):
    """The sums over the init containers up to the first that is not finished."""

    done: bool
    tally: _Tally
    sidecars: _Tally  # only the restarts of sidecars


def _pod(pod: JsonObject) -> list[Cell]:
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    tally, total = _tally(spec, status)
    reason = tally.reason
    if pod["metadata"].get("deletionTimestamp"):
        if status.get("reason") == _NODE_LOST:
            reason = "Unknown"
        elif status.get("phase") not in _COMPLETED:
            reason = "Terminating"
    restarts: Cell = str(tally.restarts)
    if tally.restarts and tally.restarted:
        restarts = since(tally.restarted, f"{tally.restarts} (", " ago)")
    return [
        name_of(pod),
        f"{tally.ready}/{total}",
        reason,
        restarts,
        age(pod),
        _ip(status),
        spec.get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE,
        _readiness_gates(spec, status),
    ]


def _ip(status: JsonObject) -> str:
    """The first address; podIP wins over podIPs."""
    ips = status.get("podIPs")
    ip: str = status.get("podIP") or (ips[0].get("ip") if ips else "")
    return ip or NONE


def _tally(spec: JsonObject, status: JsonObject) -> tuple[_Tally, int]:
    """The sums over all containers, and the number of containers that should be ready."""
    conditions = status.get("conditions") or ()
    reason = status.get("reason") or status.get("phase", "")
    for condition in conditions:
        if condition.get("reason") == "SchedulingGated" and condition.get("type") == "PodScheduled":
            reason = "SchedulingGated"
    total = len(spec.get("containers") or ())
    init_containers, init_statuses = spec.get("initContainers"), status.get("initContainerStatuses")
    tally = _Tally(reason)
    if init_containers or init_statuses:
        sidecars = {one["name"] for one in init_containers or () if one.get("restartPolicy") == "Always"}
        total += len(sidecars)
        init = _init(init_statuses or (), reason, len(init_containers or ()), sidecars)
        if not init.done and not _is_initialized(conditions):
            return init.tally, total
        tally = init.sidecars
    return _main(status.get("containerStatuses") or (), tally, conditions), total


def _init(statuses: Sequence[JsonObject], reason: str, count: int, names: set[str]) -> _Init:
    ready, restarts, sidecar_restarts = 0, 0, 0
    restarted = sidecar_restarted = ""
    done = True
    for i, container in enumerate(statuses):
        sidecar = container.get("name") in names
        restarts += container.get("restartCount", 0)
        restarted = max(restarted, _last_end(container))
        if sidecar:
            sidecar_restarts += container.get("restartCount", 0)
            sidecar_restarted = max(sidecar_restarted, _last_end(container))
        state = container.get("state") or {}
        ended = state.get("terminated")
        if ended is not None and not ended.get("exitCode"):
            continue
        if sidecar and container.get("started"):
            ready += bool(container.get("ready"))
            continue
        waiting = (state.get("waiting") or {}).get("reason")
        if ended is not None:
            reason = f"Init:{_why_ended(ended)}"
        elif waiting and waiting != "PodInitializing":
            reason = f"Init:{waiting}"
        else:
            reason = f"Init:{i}/{count}"
        done = False
        break
    return _Init(
        done,
        _Tally(reason, ready, restarts, restarted),
        _Tally(reason, ready, sidecar_restarts, sidecar_restarted),
    )


def _main(statuses: Sequence[JsonObject], tally: _Tally, conditions: Sequence[JsonObject]) -> _Tally:
    """Adds the regular containers. If several have a reason, the first container's is shown."""
    reason, ready, restarts, restarted = tally
    running, failure = False, ""
    for container in reversed(statuses):
        restarts += container.get("restartCount", 0)
        if "lastState" in container:
            restarted = max(restarted, _last_end(container))
        state = container.get("state") or {}
        if waiting := (state.get("waiting") or {}).get("reason"):
            reason = waiting
        elif (ended := state.get("terminated")) is not None:
            reason = _why_ended(ended)
            if ended.get("exitCode"):
                failure = reason
        elif container.get("ready") and state.get("running") is not None:
            running = True
            ready += 1
    if reason == "Completed":
        if running and _is_ready(conditions):
            reason = "Running"
        elif failure:
            reason = failure
        elif running:
            reason = "NotReady"
    return _Tally(reason, ready, restarts, restarted)


def _last_end(container: JsonObject) -> str:
    """When the previous run of the container ended; "" if unknown."""
    ended = (container.get("lastState") or {}).get("terminated") or {}
    return ended.get("finishedAt") or ""


def _why_ended(ended: JsonObject) -> str:
    reason: str = ended.get("reason", "")
    if reason:
        return reason
    signal = ended.get("signal")
    return f"Signal:{signal}" if signal else f"ExitCode:{ended.get('exitCode', 0)}"


def _is_initialized(conditions: Sequence[JsonObject]) -> bool:
    found = [condition for condition in conditions if condition.get("type") == "Initialized"]
    return bool(found) and found[0].get("status") == "True"


def _is_ready(conditions: Sequence[JsonObject]) -> bool:
    return any(condition.get("type") == "Ready" and condition.get("status") == "True" for condition in conditions)


def _readiness_gates(spec: JsonObject, status: JsonObject) -> str:
    gates = spec.get("readinessGates")
    if not gates:
        return NONE
    states = dict[str, str]()
    for condition in status.get("conditions") or ():
        states.setdefault(condition.get("type", ""), condition.get("status", ""))
    return f"{sum(states.get(gate.get('conditionType', '')) == 'True' for gate in gates)}/{len(gates)}"


def _completed(pod: JsonObject) -> tuple[str, str] | None:
    return _COMPLETED.get((pod.get("status") or {}).get("phase", ""))


def _pod_template(template: JsonObject) -> list[Cell]:
    inner = template.get("template") or {}
    return [name_of(template), *containers(inner), labels_text((inner.get("metadata") or {}).get("labels"))]


COLUMNS = {
    ("", "Pod"): Columns(
        (
            NAME,
            column("Ready"),
            column("Status"),
            column("Restarts"),
            AGE,
            wide("IP", "core.v1.PodStatus.podIP"),
            wide("Node", "core.v1.PodSpec.nodeName"),
            wide("Nominated Node", "core.v1.PodStatus.nominatedNodeName"),
            wide("Readiness Gates", "core.v1.PodSpec.readinessGates"),
        ),
        _pod,
        conditions=_completed,
    ),
    ("", "PodTemplate"): Columns(
        (NAME, column("Containers"), column("Images"), column("Pod Labels")),
        _pod_template,
    ),
}
