"""What kubelets would do, as far as controllers look at it: nodes stay ready, pods run, end and go."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import Any

from tests.upstream.controlplane.server import Refused, Server

NODES = ("node-a", "node-b")
_HEARTBEAT = 10.0
_MERGE = "application/merge-patch+json"
_CAPACITY = {"cpu": "16", "memory": "64Gi", "pods": "110", "ephemeral-storage": "100Gi"}


class Kubelet:
    """Looks at all pods every second."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def run(self, stopping: threading.Event) -> None:
        """Goes on until it is told to stop."""
        beat = 0.0
        while not stopping.wait(1.0):
            with contextlib.suppress(OSError, Refused):
                if time.monotonic() > beat:
                    beat = time.monotonic() + _HEARTBEAT
                    for name in NODES:
                        self._heartbeat(name)
                for pod in self._server.ask("GET", "/api/v1/pods?fieldSelector=spec.nodeName!%3D")["items"]:
                    with contextlib.suppress(Refused):  # another one's write came before
                        self._look_at(pod)

    def _heartbeat(self, name: str) -> None:
        now = _now()
        with contextlib.suppress(Refused):
            labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}
            node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}
            self._server.ask("POST", "/api/v1/nodes", node)
        conditions = [
            {"type": kind, "status": "True" if kind == "Ready" else "False", "reason": "Fake", "message": "",
             "lastHeartbeatTime": now, "lastTransitionTime": now}
            for kind in ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")
        ]  # fmt: skip
        status = {"capacity": _CAPACITY, "allocatable": _CAPACITY, "conditions": conditions}
        self._server.ask("PATCH", f"/api/v1/nodes/{name}/status", {"status": status}, _MERGE)
        leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
        spec = {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": now[:-1] + ".000000Z"}
        lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name}, "spec": spec}
        try:
            self._server.ask("PATCH", f"{leases}/{name}", {"spec": spec}, _MERGE)
        except Refused:
            self._server.ask("POST", leases, lease)

    def _look_at(self, pod: dict[str, Any]) -> None:
        metadata = pod["metadata"]
        path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"
        if metadata.get("deletionTimestamp"):
            self._server.ask("DELETE", f"{path}?gracePeriodSeconds=0")
        elif pod["status"].get("phase") == "Pending":
            self._report(path, pod, "Running")
        elif pod["status"]["phase"] == "Running" and pod["spec"]["restartPolicy"] == "Never":
            self._report(path, pod, "Succeeded")

    def _report(self, path: str, pod: dict[str, Any], phase: str) -> None:
        now = _now()
        running = phase == "Running"
        state = {"running": {"startedAt": now}} if running else {"terminated": {"exitCode": 0, "finishedAt": now}}
        containers = [
            {"name": each["name"], "image": each["image"], "imageID": "", "restartCount": 0, "ready": running,
             "started": running, "state": state}
            for each in pod["spec"]["containers"]
        ]  # fmt: skip
        conditions = [
            {"type": kind, "status": "True" if running else "False", "lastTransitionTime": now}
            for kind in ("PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready")
        ]
        status = {"phase": phase, "startTime": now, "conditions": conditions, "containerStatuses": containers}
        status |= {"podIP": "10.244.0.9", "podIPs": [{"ip": "10.244.0.9"}], "hostIP": "192.0.2.1"}
        strategic = "application/strategic-merge-patch+json"
        self._server.ask("PATCH", f"{path}/status", {"status": status}, strategic)


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
