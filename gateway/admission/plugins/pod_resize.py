"""PodResizeValidator: allows resizes on Linux nodes only, and to no more than the node has.

Page "Resize CPU and Memory Resources assigned to Containers".
"""

from __future__ import annotations

from gateway.admission.chain import Plugin, looking_up, on
from gateway.admission.plugins.placed_pods import node_of_change, required_node
from gateway.admission.record import Admission
from gateway.admission.refusal import refused
from gateway.http.status import StatusError
from gateway.jsontypes import JsonObject
from gateway.kinds.attributes import Operation
from gateway.kinds.objects import Objects
from gateway.validation.field import go_quote

_OS_LABEL = "kubernetes.io/os"


async def _validate(admission: Admission, objects: Objects) -> None:
    obj, name = admission.obj, node_of_change(admission)
    assert obj is not None
    if not name:
        return
    node = await required_node(admission, objects, name)
    system = (node["metadata"].get("labels") or {}).get(_OS_LABEL, "linux")
    if system != "linux":
        reason = f"pod resize is only supported on linux nodes, node {go_quote(name)} is {go_quote(system)}"
        raise _of_type(refused(admission, obj, reason), "UnsupportedPlatform")
    lacking = _lacking(obj.get("spec") or {}, node)
    if lacking:
        reason = f"node didn't have enough allocatable resources: {'; '.join(lacking)}"
        raise _of_type(refused(admission, obj, reason), "NodeCapacity")


def _lacking(spec: JsonObject, node: JsonObject) -> list[str]:
    """A text for each resource of which the pod requests more than its node has."""
    from gateway.admission.limits.constraints import NOTHING, quantities  # what a start does not need
    from gateway.admission.limits.pod_usage import pod_usage, with_overhead

    requested = with_overhead(pod_usage(spec, "requests"), spec)
    allocatable = quantities((node.get("status") or {}).get("allocatable"))
    cpu, cpus = requested.get("cpu", NOTHING), allocatable.get("cpu", NOTHING)
    memory, memories = requested.get("memory", NOTHING), allocatable.get("memory", NOTHING)
    found = []
    if cpu > cpus:
        found.append(f"cpu, requested: {cpu.milli_value}, allocatable: {cpus.milli_value}")
    if memory > memories:
        found.append(f"memory, requested: {memory.value}, allocatable: {memories.value}")
    return found


def _of_type(error: StatusError, type_: str) -> StatusError:
    error.details = {**(error.details or {}), "causes": [{"reason": type_}]}
    return error


PLUGIN = Plugin(
    "PodResizeValidator", on("/pods/resize", operations=(Operation.UPDATE,)), looking_up(validate=_validate)
)
