"""The chart on two nodes, as docs/how-to/chart.md describes it: install, upgrade, rollback, losses, restore."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.clients.binaries import binary
from tests.engine import tools
from tests.upstream.node import component_images, gateway_image, programs
from tests.upstream.node.cluster import Cluster, cluster
from tests.upstream.node.component_images import ETCD as ETCD_IMAGE
from tests.upstream.node.component_images import write_layout
from tests.upstream.node.conftest import MARK
from tests.upstream.node.joining import join
from tests.upstream.node.services import add_services, serve_images

CHART = str(programs.ROOT / "deploy" / "helm" / "apiserver-gateway")
SPACE, NAME = "control-plane", "api-apiserver-gateway"
ETCD = f"{NAME}-etcd"
VALUES = {
    "image.repository": gateway_image.NAME,
    "image.tag": "one",
    "etcd.image.repository": ETCD_IMAGE.rpartition(":")[0],
    "etcd.image.tag": "1",
    "etcd.snapshots.enabled": "true",
    "etcd.storage.size": "1Gi",
    "etcd.snapshots.size": "1Gi",
    "service.type": "NodePort",
    "service.nodePort": "30443",
}
RATE = 50  # requests a second
SECONDS = "--timeout=280s"


@pytest.fixture(scope="module")
def nodes() -> Iterator[Cluster]:
    """Two nodes that can pull the gateway's image, and a namespace for restricted pods."""
    if not os.environ.get(MARK):
        pytest.skip("there are no nodes: `make test-nodes` runs these tests, as root")
    if not tools.BASE.archive.is_file() or not gateway_image.CAN_BE_MADE:
        pytest.skip("there is no image: `make nodes-tools` builds its base, for the Python of that")
    with cluster() as made:
        write_layout(made.directory / "images", [gateway_image.gateway("one", "two")])
        serve_images(made, component_images.LAYOUT, made.directory / "images")
        for name in ("n1", "n2"):
            join(made, name)
        add_services(made)
        made.kubectl("create", "namespace", SPACE)
        made.kubectl("label", "namespace", SPACE, "pod-security.kubernetes.io/enforce=restricted")
        yield made


def test_it_is_installed_and_answers(nodes: Cluster) -> None:
    _helm(nodes, "install", "api", CHART, *_set(VALUES))
    _rolled_out(nodes)
    config = _secret(nodes, f"{NAME}-kubeconfig")["kubeconfig"]
    (nodes.directory / "api.kubeconfig").write_bytes(config)
    assert "namespace/default" in _ask(nodes, "get", "namespaces", "-o", "name")
    _ask(nodes, "create", "configmap", "asked", "--from-literal=a=b")


def test_it_answers_through_a_forwarded_port(nodes: Cluster) -> None:
    nodes.start("forwarded", *nodes.kubectl_words("-n", SPACE, "port-forward", f"service/{NAME}", "16443:443"))
    nodes.until(lambda: "Forwarding from" in nodes.log("forwarded").read_text(), "the port is forwarded")
    assert _ask(nodes, "get", "configmap", "asked", "-o", "name", server="https://127.0.0.1:16443")
    nodes.kill("forwarded")


def test_no_request_fails_while_gateways_are_restarted(nodes: Cluster) -> None:
    with _asked_steadily(nodes) as result:
        _in_space(nodes, "rollout", "restart", f"deployment/{NAME}")
        _rolled_out(nodes)
    assert not result["failed"], f"{len(result['failed'])} of {result['answered']}: {result['failed'][:5]}"
    assert result["answered"] > RATE


def test_it_answers_while_it_is_upgraded_and_rolled_back(nodes: Cluster) -> None:
    """Members of etcd are replaced, too. A request that waits for one of them then may reach its time limit."""
    with _asked_steadily(nodes) as result:
        _helm(nodes, "upgrade", "api", CHART, *_set(VALUES | {"image.tag": "two"}))
        _rolled_out(nodes)
        _helm(nodes, "rollback", "api", "1")
        _rolled_out(nodes)
    failed, answered = result["failed"], result["answered"]
    assert len(failed) < answered / 50, f"{len(failed)} of {answered}: {failed[:5]}"


def test_a_member_that_loses_its_volume_comes_back(nodes: Cluster) -> None:
    claim = f"data-{ETCD}-1"
    volume = _in_space(nodes, "get", "pvc", claim, "-o", "jsonpath={.spec.volumeName}")
    _in_space(nodes, "delete", "pvc", claim, "--wait=false")
    _in_space(nodes, "delete", "pod", f"{ETCD}-1", "--grace-period=0", "--force")
    nodes.until(lambda: _volume(nodes, claim) not in ("", volume), "the member has another volume")
    _rolled_out(nodes)
    assert _ask(nodes, "get", "configmap", "asked", "-o", "name")
    members = json.loads(_etcdctl(nodes, "member", "list", "--write-out=json"))["members"]
    assert sorted(each["name"] for each in members) == [f"{ETCD}-{number}" for number in range(3)]


def test_a_snapshot_is_restored(nodes: Cluster) -> None:
    (cron,) = (each for each in _in_space(nodes, "get", "cronjob", "-o", "name").split() if each.endswith("snapshot"))
    _in_space(nodes, "create", "job", "saved", f"--from={cron}")
    _in_space(nodes, "wait", "--for=condition=complete", "job/saved", SECONDS)
    pod = _in_space(nodes, "get", "pod", "-l", "job-name=saved", "-o", "jsonpath={.items[0].metadata.name}")
    _ask(nodes, "create", "configmap", "later")
    _in_space(nodes, "scale", f"deployment/{NAME}", "--replicas=0")
    _in_space(nodes, "scale", f"statefulset/{ETCD}", "--replicas=0")
    selected = "app.kubernetes.io/instance=api, app.kubernetes.io/component in (gateway, etcd)"
    _in_space(nodes, "wait", "pod", "--for=delete", "--selector", selected, SECONDS)
    node = _node_of(nodes, f"{ETCD}-snapshots")
    member = next(each for each in range(3) if _node_of(nodes, f"data-{ETCD}-{each}") == node)
    others = [f"data-{ETCD}-{each}" for each in range(3) if each != member]
    _in_space(nodes, "delete", "pvc", *others)
    restoring = {"etcd.restore.snapshot": pod, "etcd.restore.member": str(member)}
    job = _helm(nodes, "template", "api", CHART, *_set(VALUES | restoring), "--show-only=templates/etcd-restore.yaml")
    _in_space(nodes, "create", "-f", "-", given=job)
    restored = ("job", "--selector=app.kubernetes.io/component=etcd-restore")
    _in_space(nodes, "wait", "--for=condition=complete", *restored, SECONDS)
    _in_space(nodes, "scale", f"statefulset/{ETCD}", "--replicas=3")
    _in_space(nodes, "rollout", "status", f"statefulset/{ETCD}", SECONDS)
    _in_space(nodes, "scale", f"deployment/{NAME}", "--replicas=2")
    _rolled_out(nodes)
    _in_space(nodes, "delete", *restored)
    found = _ask(nodes, "get", "configmaps", "-o", "name").split()
    assert "configmap/asked" in found and "configmap/later" not in found


def test_what_an_uninstall_leaves_is_what_the_page_names(nodes: Cluster) -> None:
    _in_space(nodes, "delete", "job", "saved")
    _helm(nodes, "uninstall", "api", "--wait", "--timeout=280s")
    kinds = nodes.kubectl("api-resources", "--namespaced", "--verbs=list", "-o", "name").split()
    listed = ",".join(kind for kind in kinds if not kind.startswith("events"))

    def left() -> set[str]:
        names = _in_space(nodes, "get", listed, "-o", "name", "--ignore-not-found").split()
        return {each for each in names if each not in ("configmap/kube-root-ca.crt", "serviceaccount/default")}

    allowed = ("persistentvolumeclaim/", "secret/")
    nodes.until(
        lambda: all(each.startswith(allowed) for each in left()), f"only volumes and Secrets are left: {left()}"
    )
    _in_space(nodes, "delete", "secret,job", "--selector=app.kubernetes.io/instance=api")
    _in_space(nodes, "delete", "pvc", "--all")
    assert left() == set()


def _set(values: dict[str, str]) -> list[str]:
    """Options of helm. A tag is a text, also if it looks like a number."""
    flags = {name: "--set-string" if name.endswith("tag") else "--set" for name in values}
    return [word for name, value in values.items() for word in (flags[name], f"{name}={value}")]


def _helm(nodes: Cluster, *words: str) -> str:
    options = (f"--kubeconfig={nodes.admin}", f"--namespace={SPACE}")
    return nodes.run(str(binary("helm")), *words, *options, seconds=300)


def _in_space(nodes: Cluster, *words: str, given: str = "") -> str:
    return nodes.kubectl("-n", SPACE, *words, given=given, seconds=300)


def _rolled_out(nodes: Cluster) -> None:
    """Waits until members and gateways are as the release wants them."""
    for each in (f"statefulset/{ETCD}", f"deployment/{NAME}"):
        _in_space(nodes, "rollout", "status", each, SECONDS)


def _secret(nodes: Cluster, name: str) -> dict[str, bytes]:
    data: dict[str, str] = json.loads(_in_space(nodes, "get", "secret", name, "-o", "json"))["data"]
    return {key: base64.b64decode(value) for key, value in data.items()}


def _ask(nodes: Cluster, *words: str, server: str = "https://10.89.0.2:30443") -> str:
    """Asks the release, through a node's port."""
    options = (
        f"--kubeconfig={nodes.directory / 'api.kubeconfig'}",
        f"--server={server}",
        "--tls-server-name=localhost",
    )
    return nodes.run(str(programs.BIN / "kubectl"), *options, *words)


@contextmanager
def _asked_steadily(nodes: Cluster) -> Iterator[dict[str, Any]]:
    """Has the release asked through both nodes' kube-proxy meanwhile. The result is there at the end."""
    config = json.loads(_ask(nodes, "config", "view", "--raw", "-o", "json"))
    (nodes.directory / "api.ca").write_bytes(
        base64.b64decode(config["clusters"][0]["cluster"]["certificate-authority-data"])
    )
    token = config["users"][0]["user"]["token"]
    words = [sys.executable, "-m", "tests.upstream.node.load", "https://10.89.0.3:30443"]
    words += [str(nodes.directory / "api.ca"), token, str(RATE)]
    found = os.environ | {"PYTHONPATH": str(programs.ROOT)}
    asking = subprocess.Popen(nodes.inside(words), env=found, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    result: dict[str, Any] = {}
    try:
        yield result
    finally:
        told, _ = asking.communicate(timeout=180)
    result |= json.loads(told)


def _volume(nodes: Cluster, claim: str) -> str:
    return _in_space(nodes, "get", "pvc", claim, "--ignore-not-found", "-o", "jsonpath={.spec.volumeName}")


def _node_of(nodes: Cluster, claim: str) -> str:
    """The node of a claim's local volume, which the volume's name begins with."""
    return _volume(nodes, claim).partition("-")[0]


def _etcdctl(nodes: Cluster, *words: str) -> str:
    tls = "/etc/etcd/tls"
    options = (f"--cacert={tls}/ca.crt", f"--cert={tls}/tls.crt", f"--key={tls}/tls.key")
    return _in_space(nodes, "exec", f"{ETCD}-0", "-c", "etcd", "--", "/usr/local/bin/etcdctl", *options, *words)
