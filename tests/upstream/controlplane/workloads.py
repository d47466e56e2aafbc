"""What the programs have to bring about: workloads whose pods are bound to nodes and run."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Any

from tests.upstream.controlplane.server import Refused, Server

PATIENCE = 120.0
NAMESPACE = "control-plane"


class Missing(Exception):
    """What did not come about in time."""


def _template(name: str, policy: str = "Always") -> dict[str, Any]:
    container = {"name": "c", "image": "registry.example/c:1", "resources": {"requests": {"cpu": "100m"}}}
    return {"metadata": {"labels": {"app": name}}, "spec": {"restartPolicy": policy, "containers": [container]}}


def _workload(api_version: str, kind: str, policy: str = "Always", **spec: Any) -> dict[str, Any]:
    name = kind.lower()
    if kind != "Job" and kind != "CronJob":
        spec["selector"] = {"matchLabels": {"app": name}}
    if kind != "CronJob":
        spec["template"] = _template(name, policy)
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, "spec": spec}


OBJECTS: dict[str, tuple[str, dict[str, Any], int]] = {  # path below the group -> (its root, object, pods)
    "deployments": ("/apis/apps/v1", _workload("apps/v1", "Deployment", replicas=3), 3),
    "statefulsets": ("/apis/apps/v1", _workload("apps/v1", "StatefulSet", replicas=2, serviceName="s"), 2),
    "daemonsets": ("/apis/apps/v1", _workload("apps/v1", "DaemonSet"), 2),
    "jobs": ("/apis/batch/v1", _workload("batch/v1", "Job", "Never", completions=3, parallelism=2), 3),
}
_OTHERS = {
    "/api/v1/namespaces/{namespace}/services": {
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"},
        "spec": {"selector": {"app": "deployment"}, "ports": [{"port": 80}]},
    },
    "/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets": {
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "deployment"}}},
    },
    "/api/v1/namespaces/{namespace}/resourcequotas": {
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": {"pods": "50"}},
    },
    "/apis/autoscaling/v2/namespaces/{namespace}/horizontalpodautoscalers": {
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "h"},
        "spec": {
            "maxReplicas": 5,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "deployment"},
        },
    },
}  # fmt: skip


def await_bound(server: Server, round_: int) -> None:
    """Makes a namespace of workloads, waits for their pods, and has them go again. Raises Missing."""
    namespace = f"{NAMESPACE}-{round_}"
    server.ask("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    account = f"/api/v1/namespaces/{namespace}/serviceaccounts/default"
    _await("the default service account", lambda: _there(server, account))
    for path, other in _OTHERS.items():
        server.ask("POST", path.format(namespace=namespace), other)
    for resource, (root, workload, _) in OBJECTS.items():
        server.ask("POST", f"{root}/namespaces/{namespace}/{resource}", workload)
    for resource, (_, workload, count) in OBJECTS.items():
        _await(f"{count} bound pods of {resource}", lambda: _bound(server, namespace, workload) >= count)  # noqa: B023
    job = f"/apis/batch/v1/namespaces/{namespace}/jobs/job"
    _await("the job's completion", lambda: server.ask("GET", job)["status"].get("succeeded") == 3)
    slices = f"/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices"
    _await("endpoints", lambda: any(each.get("endpoints") for each in server.ask("GET", slices)["items"]))
    deployment = f"/apis/apps/v1/namespaces/{namespace}/deployments/deployment"
    server.ask("PATCH", deployment, {"spec": {"replicas": 5}}, "application/merge-patch+json")
    _await("5 ready replicas", lambda: server.ask("GET", deployment)["status"].get("readyReplicas") == 5)
    server.ask("DELETE", f"/api/v1/namespaces/{namespace}")
    _await("the namespace's end", lambda: not _there(server, f"/api/v1/namespaces/{namespace}"))


def _there(server: Server, path: str) -> bool:
    with contextlib.suppress(Refused):
        server.ask("GET", path)
        return True
    return False


def _bound(server: Server, namespace: str, workload: dict[str, Any]) -> int:
    name = workload["metadata"]["name"]
    selector = f"job-name%3D{name}" if workload["kind"] == "Job" else f"app%3D{name}"
    pods = server.ask("GET", f"/api/v1/namespaces/{namespace}/pods?labelSelector={selector}")["items"]
    return sum(bool(pod["spec"].get("nodeName")) for pod in pods)


def _await(what: str, holds: Callable[[], bool]) -> None:
    ends = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > ends:
            raise Missing(f"{what}: not there after {PATIENCE:.0f} seconds")
        time.sleep(0.5)
