"""Defaults of pods, including those that pod templates don't get.

Source: Kubernetes API reference, Pod; "Resource Management for Pods and Containers" (requests from limits, pod-level
resources, KEP-2837); PodStatus and PodIP for the addresses.
"""

from __future__ import annotations

from gateway.defaults.pod_level_resources import default_pod_resources
from gateway.defaults.pod_spec import POD_SPEC, drop_retired_annotations
from gateway.defaults.quantities import round_up
from gateway.defaults.registry import Defaulters
from gateway.defaults.table import compile_table
from gateway.jsontypes import JsonObject


def _requests_from_limits(spec: JsonObject) -> None:
    for group in ("containers", "initContainers"):
        for container in spec.get(group) or ():
            resources = container.get("resources")
            limits = resources.get("limits") if resources else None
            if limits:
                requests = resources.get("requests") or {}
                if not limits.keys() <= requests.keys():  # else their order stays, as if nothing were defaulted again
                    resources["requests"] = {**limits, **requests}


def _host_ports(spec: JsonObject) -> None:
    """With hostNetwork, hostPort defaults to containerPort."""
    if not spec.get("hostNetwork"):
        return
    for group in ("containers", "initContainers"):
        for container in spec.get(group) or ():
            for port in container.get("ports") or ():
                if not port.get("hostPort") and port.get("containerPort"):
                    port["hostPort"] = port["containerPort"]


def _grace_period(spec: JsonObject) -> None:
    """Replaces a negative grace period by one second."""
    if spec.get("terminationGracePeriodSeconds", 0) < 0:
        spec["terminationGracePeriodSeconds"] = 1


def _pod_ips(status: JsonObject) -> None:
    """Makes `podIP` and the first of `podIPs` equal; where they differ, `podIP` wins."""
    single, several = status.get("podIP"), status.get("podIPs")
    if single and (not several or several[0].get("ip") != single):
        status["podIPs"] = [{"ip": single}]
    elif several and several[0].get("ip"):
        status["podIP"] = several[0]["ip"]


_CONTAINER_STATUS = compile_table(
    {"allocatedResources": round_up, "resources.limits": round_up, "resources.requests": round_up}
)

_SPEC = compile_table(
    {"enableServiceLinks?": True},
    _requests_from_limits,
    default_pod_resources,
    _host_ports,
    _grace_period,
    POD_SPEC,
)
_SPEC_BEFORE_ADMISSION = compile_table(
    {"enableServiceLinks?": True}, _requests_from_limits, _host_ports, _grace_period, POD_SPEC
)

_OTHERS = {
    "metadata": drop_retired_annotations,
    "status": _pod_ips,
    "status.initContainerStatuses[]": _CONTAINER_STATUS,
    "status.containerStatuses[]": _CONTAINER_STATUS,
    "status.ephemeralContainerStatuses[]": _CONTAINER_STATUS,
    "status.allocatedResources": round_up,
    "status.resources.limits": round_up,
    "status.resources.requests": round_up,
}

POD = compile_table({**_OTHERS, "spec+": _SPEC})
default_all_but_spec = compile_table(_OTHERS)

DEFAULTERS: Defaulters = {("v1", "Pod"): POD}
GATED: Defaulters = {("v1", "Pod"): compile_table({**_OTHERS, "spec+": _SPEC_BEFORE_ADMISSION})}
"""PodLevelResourcesFixDefaulting: pod-level resources are set after admission, from those of the containers."""
