"""The chart on two nodes, as docs/how-to/chart.md describes it: install, upgrade, rollback, losses, restore."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.clients.binaries import binary
from tests.engine import tools
from tests.integration.testing.pages import blocks
from tests.upstream.node import component_images, gateway_image, programs
from tests.upstream.node.cluster import Cluster, cluster
from tests.upstream.node.component_images import ETCD as ETCD_IMAGE
from tests.upstream.node.component_images import write_layout
from tests.upstream.node.conftest import MARK
from tests.upstream.node.joining import join
from tests.upstream.node.services import add_services, serve_images

PAGE = programs.ROOT / "docs" / "how-to" / "chart.md"
CHART = str(programs.ROOT / "deploy" / "helm" / "apiserver-gateway")
SPACE, NAME = "control-plane", "api-apiserver-gateway"
ETCD = f"{NAME}-etcd"
GATEWAYS = "app.kubernetes.io/instance=api, app.kubernetes.io/component=gateway"
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
    _installed(nodes, VALUES)
    assert "namespace/default" in _ask(nodes, "get", "namespaces", "-o", "name")


def test_it_answers_through_a_forwarded_port(nodes: Cluster) -> None:
    nodes.start("forwarded", *nodes.kubectl_words("-n", SPACE, "port-forward", f"service/{NAME}", "16443:443"))
    nodes.until(lambda: "Forwarding from" in nodes.log("forwarded").read_text(), "the port is forwarded")
    assert _ask(nodes, "get", "configmap", "asked", "-o", "name", server="https://127.0.0.1:16443")
    nodes.kill("forwarded")


def test_it_answers_through_its_service(nodes: Cluster) -> None:
    address = _in_space(nodes, "get", "service", NAME, "-o", "jsonpath={.spec.clusterIP}")
    assert _ask(nodes, "get", "configmap", "asked", "-o", "name", server=f"https://{address}:443", network_of="n1")


def test_no_request_fails_while_gateways_are_restarted(nodes: Cluster) -> None:
    with _asked_steadily(nodes) as result:
        _in_space(nodes, "rollout", "restart", f"deployment/{NAME}")
        _rolled_out(nodes)
    assert not result.failed, str(result)
    assert len(result.answered) > RATE


def test_it_answers_while_it_is_upgraded_and_rolled_back(nodes: Cluster) -> None:
    """Members of etcd are replaced, too. A request that waits for one of them then may reach its time limit."""
    with _asked_steadily(nodes) as result:
        _helm(nodes, "upgrade", "api", CHART, *_set(VALUES | {"image.tag": "two"}))
        _rolled_out(nodes)
        _helm(nodes, "rollback", "api", "1")
        _rolled_out(nodes)
    assert len(result.failed) < len(result.answered) / 50, str(result)


def test_a_member_that_loses_its_volume_comes_back(nodes: Cluster) -> None:
    claim = f"data-{ETCD}-0"
    volume = _volume(nodes, claim)
    (deleted,) = _section("A member of etcd that lost its volume")
    _follow(nodes, deleted)
    nodes.until(lambda: _volume(nodes, claim) not in ("", volume), "the member has another volume")
    _rolled_out(nodes)
    assert _ask(nodes, "get", "configmap", "asked", "-o", "name")
    members = json.loads(_etcdctl(nodes, "member", "list", "--write-out=json"))["members"]
    assert sorted(each["name"] for each in members) == [f"{ETCD}-{number}" for number in range(3)]


def test_a_drained_node_takes_no_acknowledged_write_with_it(nodes: Cluster) -> None:
    """The others are a quorum without its members. These wait for the node, because their volumes are there."""
    places = Counter(_node_of(nodes, f"data-{ETCD}-{member}") for member in range(3))
    node = min(nodes.nodes, key=lambda name: places[name])
    with _asked_steadily(nodes, "drain") as result:
        nodes.kubectl("drain", node, "--ignore-daemonsets", "--delete-emptydir-data", SECONDS, seconds=300)
        _in_space(nodes, "rollout", "status", f"deployment/{NAME}", SECONDS)
        nodes.kubectl("uncordon", node)
        _rolled_out(nodes)
    _has_all(nodes, "drain", result)
    assert len(result.failed) < len(result.answered) / 50, str(result)


def test_kills_lose_no_acknowledged_write(nodes: Cluster) -> None:
    """A gateway's process and that of a member of etcd are killed; a kubelet starts each again."""
    gateway = _in_space(nodes, "get", "pod", "-l", GATEWAYS, "-o", "jsonpath={.items[0].metadata.name}")
    with _asked_steadily(nodes, "kill") as result:
        for pod in (gateway, f"{ETCD}-2", f"{ETCD}-0"):
            _kill(nodes, pod)
            _rolled_out(nodes)
    _has_all(nodes, "kill", result)
    assert len(result.failed) < len(result.answered) / 5, str(result)


def test_a_snapshot_is_restored(nodes: Cluster) -> None:
    _saved_and_restored(nodes, VALUES, 3)


def test_what_an_uninstall_leaves_is_what_the_page_names(nodes: Cluster) -> None:
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


def test_a_snapshot_of_one_member_is_restored(nodes: Cluster) -> None:
    """In a namespace of the same name and another cluster of etcd, on volumes that were not used before."""
    values = VALUES | {"etcd.replicaCount": "1", "replicaCount": "1"}
    _installed(nodes, values)
    _saved_and_restored(nodes, values, 1)


def _installed(nodes: Cluster, values: dict[str, str]) -> None:
    """Installs a release, and makes the ConfigMap `asked` in it."""
    _helm(nodes, "install", "api", CHART, *_set(values))
    _rolled_out(nodes)
    config = _secret(nodes, f"{NAME}-kubeconfig")["kubeconfig"]
    (nodes.directory / "api.kubeconfig").write_bytes(config)
    _ask(nodes, "create", "configmap", "asked", "--from-literal=a=b")


def _saved_and_restored(nodes: Cluster, values: dict[str, str], members: int) -> None:
    """Has the CronJob save a snapshot, and follows the page to restore it. What was made later is gone."""
    (cron,) = (each for each in _in_space(nodes, "get", "cronjob", "-o", "name").split() if each.endswith("snapshot"))
    snapshot = _saved_by(nodes, cron)
    _ask(nodes, "create", "configmap", "later")
    node = _node_of(nodes, f"{ETCD}-snapshots")
    member = next(each for each in range(members) if _node_of(nodes, f"data-{ETCD}-{each}") == node)
    others = [f"data-{ETCD}-{each}" for each in range(members) if each != member]
    options = " ".join(_set(values | {"etcd.restore.member": str(member)}))
    for block in _section("Restore a snapshot"):
        if "delete persistentvolumeclaim" in block:
            if others:
                _follow(nodes, block.replace(f"data-{ETCD}-1 data-{ETCD}-2", " ".join(others)))
            continue
        here = block.replace("--values production.yaml", options).replace("snapshot=NAME", f"snapshot={snapshot}")
        _follow(nodes, here.replace("etcd --replicas=3", f"etcd --replicas={members}"))
    _rolled_out(nodes)
    found = _ask(nodes, "get", "configmaps", "-o", "name").split()
    assert "configmap/asked" in found and "configmap/later" not in found


def _section(title: str) -> list[str]:
    """The commands of a section of the page, block by block."""
    text = PAGE.read_text().partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    return [block.text for block in blocks(text) if block.language == "sh"]


def _follow(nodes: Cluster, commands: str) -> None:
    """Runs commands of the page."""
    path = os.pathsep.join((str(programs.BIN), str(binary("helm").parent), "/usr/bin:/bin"))
    words = ("env", "-C", str(programs.ROOT), f"PATH={path}", f"KUBECONFIG={nodes.admin}", "sh", "-exc", commands)
    nodes.run(*words, seconds=700)


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


def _ask(nodes: Cluster, *words: str, server: str = "https://10.89.0.2:30443", network_of: str = "") -> str:
    """Asks the release, through a node's port, or at another address from a node's network."""
    options = (
        f"--kubeconfig={nodes.directory / 'api.kubeconfig'}",
        f"--server={server}",
        "--tls-server-name=localhost",
    )
    return nodes.run(str(programs.BIN / "kubectl"), *options, *words, network_of=network_of)


@dataclass
class Asked:
    """The numbers of the requests that were answered, and how the others failed."""

    answered: list[int] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{len(self.failed)} failed, {len(self.answered)} answered: {self.failed[:5]}"


@contextmanager
def _asked_steadily(nodes: Cluster, prefix: str = "") -> Iterator[Asked]:
    """Has the release asked through both nodes' kube-proxy meanwhile. The result is there at the end."""
    config = json.loads(_ask(nodes, "config", "view", "--raw", "-o", "json"))
    (nodes.directory / "api.ca").write_bytes(
        base64.b64decode(config["clusters"][0]["cluster"]["certificate-authority-data"])
    )
    token = config["users"][0]["user"]["token"]
    words = [sys.executable, "-m", "tests.upstream.node.load", "https://10.89.0.3:30443"]
    words += [str(nodes.directory / "api.ca"), token, str(RATE), prefix]
    found = os.environ | {"PYTHONPATH": str(programs.ROOT)}
    asking = subprocess.Popen(nodes.inside(words), env=found, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    result = Asked()
    try:
        yield result
    finally:
        told, _ = asking.communicate(timeout=180)
    for name, value in json.loads(told).items():
        setattr(result, name, value)
    print(f"{prefix}: {result}" if prefix else result)


def _has_all(nodes: Cluster, prefix: str, asked: Asked) -> None:
    """Each acknowledged write is there."""
    there = set(_ask(nodes, "get", "configmaps", "-o", "name").split())
    lost = [number for number in asked.answered if f"configmap/{prefix}-{number}" not in there]
    assert asked.answered and not lost, f"{len(lost)} of {len(asked.answered)} acknowledged writes are lost: {lost[:9]}"


def _kill(nodes: Cluster, pod: str) -> None:
    """Kills the process of a pod's container, and waits until the kubelet has started it again."""

    def state() -> dict[str, Any]:
        found: dict[str, Any] = json.loads(_in_space(nodes, "get", "pod", pod, "-o", "json"))
        return {"node": found["spec"]["nodeName"], **found["status"]["containerStatuses"][0]}

    before = state()
    container = before["containerID"].removeprefix("containerd://")
    words = ("/opt/bin/ctr", "--namespace=k8s.io", "task", "kill", "--signal=SIGKILL", container)
    nodes.run(*words, node=before["node"])
    nodes.until(lambda: state()["restartCount"] > before["restartCount"] and state()["ready"], f"{pod} runs again")


def _saved_by(nodes: Cluster, cron: str) -> str:
    """The name of a pod of a CronJob whose time has come, once its Job is complete."""
    schedule = _in_space(nodes, "get", cron, "-o", "jsonpath={.spec.schedule}")

    def jobs() -> list[str]:
        found = json.loads(_in_space(nodes, "get", "job", "-o", "json"))["items"]
        owned = (each["metadata"] for each in found if "ownerReferences" in each["metadata"])
        return [each["name"] for each in owned if each["ownerReferences"][0]["name"] == cron.partition("/")[2]]

    _schedule(nodes, cron, "* * * * *")
    nodes.until(jobs, "the CronJob has made a Job")
    _schedule(nodes, cron, schedule)
    job = jobs()[0]
    _in_space(nodes, "wait", "--for=condition=complete", f"job/{job}", SECONDS)
    return _in_space(nodes, "get", "pod", "-l", f"job-name={job}", "-o", "jsonpath={.items[0].metadata.name}")


def _schedule(nodes: Cluster, cron: str, schedule: str) -> None:
    _in_space(nodes, "patch", cron, "-p", json.dumps({"spec": {"schedule": schedule}}))


def _volume(nodes: Cluster, claim: str) -> str:
    return _in_space(nodes, "get", "pvc", claim, "--ignore-not-found", "-o", "jsonpath={.spec.volumeName}")


def _node_of(nodes: Cluster, claim: str) -> str:
    """The node of a claim's local volume, which the volume's name begins with."""
    return _volume(nodes, claim).partition("-")[0]


def _etcdctl(nodes: Cluster, *words: str) -> str:
    tls = "/etc/etcd/tls"
    options = (f"--cacert={tls}/ca.crt", f"--cert={tls}/tls.crt", f"--key={tls}/tls.key")
    return _in_space(nodes, "exec", f"{ETCD}-0", "-c", "etcd", "--", "/usr/local/bin/etcdctl", *options, *words)
