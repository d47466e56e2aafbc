"""The chart with kube-controller-manager and kube-scheduler: its pods are created, bound, ready, and deleted again.

The programs are found on PATH, in APISERVER_GATEWAY_KUBERNETES, or as built by tests/upstream/control_plane.py.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.clients.binaries import binary
from tests.clients.charts import CHART, NAME
from tests.clients.command import Helm, Kubectl
from tests.upstream.controlplane.kubelet import NODES, Kubelet
from tests.upstream.controlplane.server import Server, gateway

PROGRAMS = ("kube-controller-manager", "kube-scheduler")
PATIENCE = "300s"  # timeout of helm and kubectl
NODES_TIMEOUT = 120.0  # seconds


@pytest.fixture
def programs() -> dict[str, str]:
    """The paths of both programs."""
    cache = Path(os.environ.get("APISERVER_GATEWAY_CACHE") or Path.home() / ".cache" / "apiserver-gateway")
    built = sorted(cache.glob("kubernetes-*"))
    places = [os.environ.get("APISERVER_GATEWAY_KUBERNETES", ""), os.environ.get("PATH", ""), *map(str, built)]
    found = {name: shutil.which(name, path=os.pathsep.join(places)) for name in PROGRAMS}
    if not all(found.values()):
        pytest.skip(f"{' and '.join(PROGRAMS)} are not at hand")
    return {name: path for name, path in found.items() if path}


@pytest.fixture
def kubeconfig(programs: dict[str, str], tmp_path: Path) -> Iterator[Path]:
    """A kubeconfig for a server with both programs, and with two simulated nodes, which only set the status of pods."""
    with ExitStack() as stack:
        server = stack.enter_context(gateway(tmp_path))
        for name, path in programs.items():
            log = stack.enter_context((tmp_path / f"{name}.log").open("wb"))
            process = subprocess.Popen([path, *server.flags[name]], stdout=log, stderr=log)
            stack.callback(process.wait)
            stack.callback(process.terminate)
        stopping = threading.Event()
        kubelet = threading.Thread(target=Kubelet(server).run, args=(stopping,))
        kubelet.start()
        stack.callback(kubelet.join)
        stack.callback(stopping.set)
        untainted(server)
        yield administrator(server, tmp_path / "kubeconfig")


def untainted(server: Server) -> None:
    """Waits until the node lifecycle controller has found all nodes ready: the scheduler uses no tainted node."""
    end = time.monotonic() + NODES_TIMEOUT
    while True:
        nodes = server.ask("GET", "/api/v1/nodes")["items"]
        if {node["metadata"]["name"] for node in nodes if not node["spec"].get("taints")} == set(NODES):
            return
        assert time.monotonic() < end, f"nodes keep their taints: {nodes}"
        time.sleep(0.1)


def administrator(server: Server, path: Path) -> Path:
    """A kubeconfig for the server."""
    config = {
        "clusters": [{"name": "c", "cluster": {"server": server.url, "insecure-skip-tls-verify": True}}],
        "users": [{"name": "u", "user": {"token": server.token}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "c",
    }
    path.write_text(json.dumps(config))
    return path


def volume(number: int) -> dict[str, object]:
    """A local volume for an etcd member."""
    spec = {"capacity": {"storage": "8Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": f"/mnt/{number}"}}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": f"disk-{number}"}, "spec": spec}


@pytest.mark.timeout(900)  # two controllers run, and twelve pods are created and deleted
def test_pods_are_bound_and_ready(kubeconfig: Path, tmp_path: Path) -> None:
    kubectl = Kubectl(binary("kubectl"), kubeconfig, tmp_path, "default")
    helm = Helm(binary("helm"), kubeconfig, tmp_path, "default")
    kubectl("create", "-f", "-", given={"apiVersion": "v1", "kind": "List", "items": [volume(i) for i in range(3)]})
    helm("install", "api", CHART, "--wait", "--timeout", PATIENCE, patience=400)
    pods = kubectl.get("pods", "-l", f"app.kubernetes.io/instance=api,app.kubernetes.io/name={NAME[4:]}")["items"]
    nodes = [(pod["metadata"]["labels"]["app.kubernetes.io/component"], pod["spec"]["nodeName"]) for pod in pods]
    # the pod of the Job that makes the Secrets exists until an hour after its end
    assert sorted(component for component, _ in nodes) == ["etcd"] * 3 + ["gateway"] * 2 + ["secrets"]
    kubectl("wait", "--for=condition=complete", "job", "--all", f"--timeout={PATIENCE}")
    assert len({node for component, node in nodes if component == "gateway"}) == 2  # on different nodes
    claims = kubectl.get("persistentvolumeclaims")["items"]
    assert [claim["status"]["phase"] for claim in claims] == ["Bound"] * 3
    kubectl("wait", "--for=jsonpath={.status.disruptionsAllowed}=1", f"pdb/{NAME}", f"--timeout={PATIENCE}")
    assert json.loads(helm("list", "-o", "json"))[0]["status"] == "deployed"
    assert "Phase:          Succeeded" in helm("test", "api", "--timeout", PATIENCE, patience=400)
    helm("uninstall", "api", "--wait", "--timeout", PATIENCE, patience=400)
    assert kubectl.names("deployments,statefulsets,poddisruptionbudgets") == []
