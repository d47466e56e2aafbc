"""kubeadm on this server, with the commands of docs/how-to/nodes.md: `init` on the first node, `join` on the second."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator

import pytest

from gateway.release.minors import DEFAULT, GIT_VERSIONS
from tests.integration.testing.pages import Block, blocks
from tests.upstream.node import component_images, programs
from tests.upstream.node.cluster import Cluster, groups, namespaces
from tests.upstream.node.conftest import MARK
from tests.upstream.node.joining import boot, give_pods_a_network
from tests.upstream.node.services import serve_images

PAGE = programs.ROOT / "docs" / "how-to" / "nodes.md"
FIRST, ADDRESS = "n1", "10.89.0.2"
# A kubelet in these namespaces wants more than one on a machine.
KUBELET = """
---
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
failCgroupV1: false
cgroupDriver: cgroupfs
failSwapOn: false
resolvConf: /etc/resolv.conf
---
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
"""
# What systemd does with the unit of kubeadm's package: the kubelet starts when kubeadm has written its files.
UNIT = """
export PATH=/opt/bin:/usr/sbin:/usr/bin:/sbin:/bin
while :; do
  if [ -f /var/lib/kubelet/config.yaml ]; then
    . /var/lib/kubelet/kubeadm-flags.env
    kubelet --bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf \
      --config=/var/lib/kubelet/config.yaml $KUBELET_KUBEADM_ARGS --cgroup-root="$1" --node-ip="$2"
  fi
  sleep 0.2
done
"""


@pytest.fixture(scope="module")
def empty() -> Iterator[Cluster]:
    """Two nodes with containerd, and no control plane."""
    if not os.environ.get(MARK):
        pytest.skip("there are no nodes: `make test-nodes` runs these tests, as root")
    with namespaces() as made:
        serve_images(made, component_images.LAYOUT)
        for number, name in enumerate((FIRST, "n2"), 2):
            boot(made, name)
            made.start(
                f"{name}-kubelet",
                "sh",
                "-c",
                UNIT,
                name,
                f"/{groups(made.directory)}/{name}",
                f"10.89.0.{number}",
                node=name,
            )
        yield made


def test_kubeadm_makes_a_cluster(empty: Cluster) -> None:
    said = ""
    for block in _section("With kubeadm"):
        if block.title:
            (empty.directory / FIRST / block.title).write_text(_here(block.text) + KUBELET)
            continue
        for command in block.commands if block.language == "sh" else ():
            if command.startswith("apiserver-gateway serve"):
                _serve(empty, command)
            else:
                said = _run(empty, FIRST, command)
    assert said.startswith("kubeadm join ")
    _run(empty, "n2", said)
    for name in empty.nodes:
        give_pods_a_network(empty, name)
    empty.kubectl("wait", "--for=condition=Ready", "node", "--all", "--timeout=110s")
    for workload in ("deployment/coredns", "daemonset/kube-proxy"):
        empty.kubectl("-n", "kube-system", "rollout", "status", workload, "--timeout=170s", seconds=180)
    pods = empty.kubectl("-n", "kube-system", "get", "pods", "-o", "name")
    for component in ("kube-controller-manager", "kube-scheduler"):
        assert f"pod/{component}-{FIRST}\n" in pods
    assert "kube-apiserver" not in pods and "etcd" not in pods
    logs = empty.kubectl("-n", "kube-system", "logs", f"kube-scheduler-{FIRST}")
    assert logs, "the server asks the kubelet with kubeadm's certificate"


def _section(title: str) -> Iterator[Block]:
    _, _, text = PAGE.read_text().partition(f"\n## {title}\n")
    return blocks(text.partition("\n## ")[0])


def _here(text: str) -> str:
    return text.replace("10.0.0.1", ADDRESS).replace(GIT_VERSIONS[DEFAULT], f"v{programs.KUBERNETES}")


def _run(made: Cluster, node: str, command: str) -> str:
    """Runs a command of the page on a node. The machine's checks are left out: it is none."""
    words = shlex.split(_here(command))
    if words[1] in ("init", "join") and "phase" not in words:
        words = [*(word for word in words if "ignore-preflight" not in word), "--ignore-preflight-errors=all"]
    path = "PATH=/opt/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    return made.run("env", "-C", "/", path, *words, node=node, seconds=300)


def _serve(made: Cluster, command: str) -> None:
    """Runs the page's server on the first node's network, with the files of that node."""
    root = made.directory / FIRST
    text = _here(command).replace("/etc/kubernetes", f"{root}/etc/kubernetes").replace("/var/lib/", f"{root}/var/lib/")
    _, *words = shlex.split(text)
    made.start("apiserver", sys.executable, "-m", "apiserver_gateway", *words, network_of=FIRST)
    ca = f"{root}/etc/kubernetes/pki/ca.crt"
    asking = ["curl", "--silent", "--fail", "--cacert", ca, f"https://{ADDRESS}:6443/readyz"]
    made.until(lambda: made.run("sh", "-c", f"{shlex.join(asking)} || true") == "ok", "the server is ready")
    made.admin = root / "etc/kubernetes/super-admin.conf"
