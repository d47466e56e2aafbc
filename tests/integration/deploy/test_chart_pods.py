"""The pods that the chart renders, as processes: three members of etcd, two gateways, its jobs and its `helm test`."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from base64 import b64decode
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from storage.embedded import binary_version, find_binary
from tests.clients.binaries import binary
from tests.integration.deploy.containers import expanded, free_ports, run, running, translated, wait_until

CHART = Path(__file__).parents[3] / "deploy" / "helm" / "apiserver-gateway"
NAME = "api-apiserver-gateway"
SERVICE = f"{NAME}.default.svc:443"


@dataclass
class Cluster:
    """What is rendered, and where that is on this machine."""

    objects: dict[tuple[str, str], dict[str, Any]]
    directory: Path
    here: dict[str, str] = field(default_factory=dict)  # addresses in the cluster, and here

    def pod(self, kind: str, name: str) -> dict[str, Any]:
        """The spec of a pod that an object makes."""
        spec: Any = self.objects[kind, name]["spec"]
        return spec["jobTemplate"]["spec"]["template"]["spec"] if kind == "CronJob" else spec["template"]["spec"]

    def secret(self, name: str) -> dict[str, bytes]:
        """What a Secret holds."""
        found = self.objects["Secret", name]
        given = {key: text.encode() for key, text in found.get("stringData", {}).items()}
        return given | {key: b64decode(text) for key, text in found.get("data", {}).items()}

    def process(
        self, pod: dict[str, Any], container: dict[str, Any], name: str, here: dict[str, str] | None = None
    ) -> tuple[list[str], dict[str, str]]:
        """The command and the environment of a container of the pod `name`, its volumes in place."""
        fields = {"metadata.name": name, "status.podIP": "127.0.0.1"}
        places = {**self.here, **(here or {})}
        environment = {}
        for entry in container.get("env", ()):
            match entry:
                case {"value": value}:
                    environment[entry["name"]] = value
                case {"valueFrom": {"fieldRef": {"fieldPath": path}}}:
                    environment[entry["name"]] = fields[path]
                case {"valueFrom": {"secretKeyRef": reference}}:
                    environment[entry["name"]] = self.secret(reference["name"])[reference["key"]].decode()
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        for mount in container["volumeMounts"]:
            volume = volumes.get(mount["name"], {})
            claim = volume.get("persistentVolumeClaim")
            where = self.directory / (claim["claimName"] if claim else f"{name}/{mount['name']}")
            self._fill(volume, where)
            places[mount["mountPath"]] = str(where)
        words = [*container.get("command", ()), *container.get("args", ())]
        if "command" not in container:
            words = [sys.executable, "-m", "gateway", *words]
        return (
            [translated(expanded(word, environment), places) for word in words],
            {name: translated(value, places) for name, value in environment.items()},
        )

    def _fill(self, volume: dict[str, Any], where: Path) -> None:
        where.mkdir(parents=True, exist_ok=True)
        match volume:
            case {"secret": source}:
                held = self.secret(source["secretName"])
            case {"configMap": source}:
                held = {k: v.encode() for k, v in self.objects["ConfigMap", source["name"]]["data"].items()}
            case _:
                return
        items = source.get("items") or [{"key": key, "path": key} for key in held]
        for item in items:
            path = where / item["path"]
            path.unlink(missing_ok=True)
            path.touch(source.get("defaultMode", 0o644))
            path.write_bytes(held[item["key"]])


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Cluster:
    etcd = find_binary()
    if binary_version(etcd) < (3, 6, 0):
        pytest.skip("the chart is for etcd 3.6")
    words = [binary("helm"), "template", "api", CHART, "--set", "etcd.snapshots.enabled=true,etcd.snapshots.keep=2"]
    text = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    objects = {(each["kind"], each["metadata"]["name"]): each for each in yaml.safe_load_all(text) if each}
    made = Cluster(objects, tmp_path_factory.mktemp("cluster"))
    made.here = {"/usr/local/bin/etcdctl": _etcdctl(etcd), "/usr/local/bin/etcd": str(etcd)}
    made.here |= {"/opt/gateway/bin/python": sys.executable}
    return made


def _etcdctl(etcd: Path) -> str:
    return shutil.which("etcdctl", path=str(etcd.parent)) or shutil.which("etcdctl") or ""


def answers(url: str) -> bool:
    """Whether a probe would succeed: a status from 200 to 399, whoever has signed the certificate."""
    try:
        with urllib.request.urlopen(url, timeout=5, context=ssl._create_unverified_context()):
            return True
    except (OSError, urllib.error.HTTPError):
        return False


@pytest.fixture(scope="module")
def etcd(cluster: Cluster) -> Iterator[None]:
    """The StatefulSet's members, ready by their probes."""
    name = f"{NAME}-etcd"
    pod = cluster.pod("StatefulSet", name)
    (container,) = pod["containers"]
    count = cluster.objects["StatefulSet", name]["spec"]["replicas"]
    ports = free_ports(3 * count)
    for member in range(count):
        for index, port in enumerate((2379, 2380)):
            there = f"{name}-{member}.{name}.default.svc:{port}"
            cluster.here[there] = f"127.0.0.1:{ports[3 * member + index]}"
    with ExitStack() as stack:
        started = []
        for member in range(count):
            own = {f"0.0.0.0:{2379 + index}": f"127.0.0.1:{ports[3 * member + index]}" for index in range(3)}
            words, environment = cluster.process(pod, container, f"{name}-{member}", own)
            log = cluster.directory / f"{name}-{member}.log"
            started.append((stack.enter_context(running(words, environment, log)), log, own["0.0.0.0:2381"]))
        for process, log, metrics in started:
            probe = container["readinessProbe"]["httpGet"]
            assert probe["port"] == "metrics"
            wait_until(lambda address=metrics, path=probe["path"]: answers(f"http://{address}{path}"), process, log)  # type: ignore[misc]  # bound now
            assert answers(f"http://{metrics}{container['livenessProbe']['httpGet']['path']}")
        yield


@pytest.fixture(scope="module")
def gateways(cluster: Cluster, etcd: None) -> Iterator[list[str]]:
    """The addresses of the Deployment's gateways, ready by their probes."""
    pod = cluster.pod("Deployment", NAME)
    (identity,), (container,) = pod["initContainers"], pod["containers"]
    addresses = []
    with ExitStack() as stack:
        for index, port in enumerate(free_ports(2)):
            name = f"{NAME}-{index}"
            run(*cluster.process(pod, identity, name), cluster.directory)
            words, environment = cluster.process(
                pod, container, name, {"--secure-port=6443": f"--secure-port={port}", "0.0.0.0": "127.0.0.1"}
            )
            log = cluster.directory / f"{name}.log"
            process = stack.enter_context(running(words, environment, log))
            addresses.append(f"127.0.0.1:{port}")
            for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
                asked = container[probe]["httpGet"]
                assert (asked["port"], asked["scheme"]) == ("https", "HTTPS")
                wait_until(lambda a=addresses[-1], p=asked["path"]: answers(f"https://{a}{p}"), process, log)  # type: ignore[misc]  # bound now
        yield addresses


def test_the_helm_test_passes_on_each_gateway(cluster: Cluster, gateways: list[str]) -> None:
    pod = cluster.objects["Pod", f"{NAME}-test"]["spec"]
    for address in gateways:
        words, environment = cluster.process(pod, pod["containers"][0], f"{NAME}-test", {SERVICE: address})
        assert "created, watched and deleted" in run(words, environment, cluster.directory)


def test_one_kubeconfig_is_for_all_gateways(cluster: Cluster, gateways: list[str], tmp_path: Path) -> None:
    text = cluster.secret(f"{NAME}-kubeconfig")["kubeconfig"].decode()
    assert f"https://{SERVICE}" in text
    for address in gateways:
        (tmp_path / "kubeconfig").write_text(text.replace(SERVICE, address))
        asked = [
            str(binary("kubectl")),
            "--kubeconfig",
            str(tmp_path / "kubeconfig"),
            "get",
            "namespaces",
            "-o",
            "name",
        ]
        assert "namespace/kube-system" in run(asked, {"HOME": str(tmp_path)}, tmp_path)
        assert ssl.get_server_certificate((address.split(":")[0], int(address.split(":")[1])))


def test_the_certificate_is_of_the_service(cluster: Cluster, gateways: list[str]) -> None:
    (tmp := cluster.directory / "ca.crt").write_bytes(cluster.secret(f"{NAME}-identity")["ca.crt"])
    context = ssl.create_default_context(cafile=str(tmp))
    host, port = gateways[0].split(":")
    with socket.create_connection((host, int(port))) as raw:
        context.wrap_socket(raw, server_hostname=f"{NAME}.default.svc").close()


def test_snapshots_are_saved_and_old_ones_forgotten(cluster: Cluster, gateways: list[str]) -> None:
    if not cluster.here["/usr/local/bin/etcdctl"]:
        pytest.skip("there is no etcdctl")
    defrag = cluster.pod("CronJob", f"{NAME}-etcd-defrag")
    said = run(*cluster.process(defrag, defrag["containers"][0], "defrag"), cluster.directory)
    assert said.count("Finished defragmenting") == 3
    job = cluster.pod("CronJob", f"{NAME}-etcd-snapshot")
    for index in range(3):
        for container in (*job["initContainers"], *job["containers"]):
            run(*cluster.process(job, container, f"snapshot-{index}"), cluster.directory)
    kept = sorted(path.name for path in (cluster.directory / f"{NAME}-etcd-snapshots").iterdir())
    assert kept == ["snapshot-1.db", "snapshot-2.db"]
