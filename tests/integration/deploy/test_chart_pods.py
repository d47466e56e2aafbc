"""The pods that the chart renders, as processes: three etcd members, two gateways, its Jobs and its `helm test`.

Nothing else runs what the chart says: tests/engine runs the image and docker-compose.yml, and tests/upstream/node runs
pods of its own. Of a chart that is wrong in a command, a path, a Secret or a probe, only these tests tell. They imitate
what a kubelet does with volumes and variables (pods.py); that part is what tests/upstream/node has a real one for.
"""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml

from apiserver_gateway.testing import ApiServer, api_server, ask
from storage.embedded import binary_version, find_binary
from tests.clients.binaries import binary
from tests.integration.deploy.members import members
from tests.integration.deploy.pods import Pods, running_jobs
from tests.ports import free_ports
from tests.processes import run, running, wait_until

CHART = Path(__file__).parents[3] / "deploy" / "helm" / "apiserver-gateway"
NAME = "api-apiserver-gateway"
SERVICE = f"{NAME}.default.svc:443"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pods]:
    """The pods of a release of the chart, which is installed on a test server."""
    etcd = find_binary()
    if binary_version(etcd) < (3, 6, 0):
        pytest.skip("the chart is for etcd 3.6")
    directory = tmp_path_factory.mktemp("cluster")
    programs = {"/usr/local/bin/etcdctl": _etcdctl(etcd), "/usr/local/bin/etcd": str(etcd)}
    programs |= {"/opt/gateway/bin/python": sys.executable}
    with api_server() as server:
        helm = [binary("helm"), "--kubeconfig", server.kubeconfig]
        wanted = ["--set", "etcd.snapshots.enabled=true,etcd.snapshots.keep=2"]
        with running_jobs(server, directory):
            subprocess.run([*helm, "install", "api", CHART, *wanted], check=True, capture_output=True)
            _await_jobs(server)
        yield Pods(server, "default", directory, programs)


def _await_jobs(server: ApiServer) -> None:
    words = [binary("kubectl"), f"--kubeconfig={server.kubeconfig}", "wait", "--for=condition=complete", "job", "--all"]
    subprocess.run([*words, "--timeout=180s"], check=True, capture_output=True)


@pytest.fixture
def helm_test(cluster: Pods) -> dict[str, Any]:
    """The pod of `helm test`, with its script."""
    words = [binary("helm"), "--kubeconfig", cluster.server.kubeconfig, "get", "hooks", "api"]
    text = subprocess.run(words, check=True, capture_output=True).stdout
    hooks = {(each["kind"], each["metadata"]["name"]): each for each in yaml.safe_load_all(text) if each}
    ask(cluster.server, "POST", "/api/v1/namespaces/default/configmaps", hooks["ConfigMap", f"{NAME}-test"])
    spec: dict[str, Any] = hooks["Pod", f"{NAME}-test"]["spec"]
    return spec


def _etcdctl(etcd: Path) -> str:
    return shutil.which("etcdctl", path=str(etcd.parent)) or shutil.which("etcdctl") or ""


def pod_of(made: dict[str, Any]) -> dict[str, Any]:
    """The spec of the pod that an object creates."""
    spec: Any = made["spec"]
    return spec["jobTemplate"]["spec"]["template"]["spec"] if made["kind"] == "CronJob" else spec["template"]["spec"]


def answers(url: str) -> bool:
    """Whether a probe would succeed: a status from 200 to 399, with any certificate."""
    try:
        with urllib.request.urlopen(url, timeout=5, context=ssl._create_unverified_context()):
            return True
    except (OSError, urllib.error.HTTPError):
        return False


@pytest.fixture(scope="module")
def etcd(cluster: Pods) -> Iterator[None]:
    """The members of the StatefulSet, ready by their probes."""
    with members(cluster, f"{NAME}-etcd") as made:
        for member in range(made.count):
            made.start(member)
        for member in range(made.count):
            made.await_ready(member, answers)
        yield


@pytest.fixture(scope="module")
def gateways(cluster: Pods, etcd: None) -> Iterator[list[str]]:
    """The addresses of the Deployment's gateways, ready by their probes."""
    pod = pod_of(cluster.read("apps/v1/deployments", NAME))
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


def test_the_helm_test_passes_on_each_gateway(cluster: Pods, helm_test: dict[str, Any], gateways: list[str]) -> None:
    for address in gateways:
        words, environment = cluster.process(helm_test, helm_test["containers"][0], f"{NAME}-test", {SERVICE: address})
        assert "created, watched and deleted" in run(words, environment, cluster.directory)


def test_one_kubeconfig_is_for_all_gateways(cluster: Pods, gateways: list[str], tmp_path: Path) -> None:
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


def test_the_certificate_is_of_the_service(cluster: Pods, gateways: list[str]) -> None:
    (tmp := cluster.directory / "ca.crt").write_bytes(cluster.secret(f"{NAME}-identity")["ca.crt"])
    context = ssl.create_default_context(cafile=str(tmp))
    host, port = gateways[0].split(":")
    with socket.create_connection((host, int(port))) as raw:
        context.wrap_socket(raw, server_hostname=f"{NAME}.default.svc").close()


def test_snapshots_are_saved_and_old_ones_forgotten(cluster: Pods, gateways: list[str]) -> None:
    if not cluster.here["/usr/local/bin/etcdctl"]:
        pytest.skip("there is no etcdctl")
    defrag = pod_of(cluster.read("batch/v1/cronjobs", f"{NAME}-etcd-defrag"))
    said = run(*cluster.process(defrag, defrag["containers"][0], "defrag"), cluster.directory)
    assert said.count("defragmented") == 3
    job = pod_of(cluster.read("batch/v1/cronjobs", f"{NAME}-etcd-snapshot"))
    for index in range(3):
        if index:
            (cluster.directory / f"{NAME}-etcd-snapshots" / "broken-off.db.part").touch()
        for container in (*job["initContainers"], *job["containers"]):
            run(*cluster.process(job, container, f"snapshot-{index}"), cluster.directory)
    kept = sorted(path.name for path in (cluster.directory / f"{NAME}-etcd-snapshots").iterdir())
    assert kept == ["snapshot-1.db", "snapshot-2.db"]


EXTERNAL = """
etcd:
  mode: external
  prefix: /kubernetes
  external: {{endpoints: ["{endpoint}"], tlsSecretName: etcd-tls, userSecretName: etcd-user}}
workers: 2
env: [{{name: APISERVER_GATEWAY_EVENT_TTL, value: 5m}}]
flags: {{service-cluster-ip-range: 10.96.0.0/16}}
"""


@pytest.fixture
def guarded(cluster: Pods, tmp_path: Path) -> Iterator[str]:
    """An external etcd: it requires a client certificate and a user, `gateway`, who may use only /kubernetes/."""
    files = {"ca.crt": "member", "tls.crt": "member", "tls.key": "member", "own.crt": "client", "own.key": "client"}
    for name, whose in files.items():
        held = cluster.secret(f"{NAME}-etcd-{whose}")
        (tmp_path / name).write_bytes(held[name.replace("own", "tls")])
    client, peer = free_ports(2)
    endpoint = f"https://127.0.0.1:{client}"
    flags = [f"--{kind}-client-urls={endpoint}" for kind in ("listen", "advertise")]
    flags += [f"--listen-peer-urls=http://127.0.0.1:{peer}", f"--data-dir={tmp_path / 'etcd'}", "--client-cert-auth"]
    flags += [f"--trusted-ca-file={tmp_path / 'ca.crt'}", f"--cert-file={tmp_path / 'tls.crt'}"]
    flags += [f"--key-file={tmp_path / 'tls.key'}"]
    ctl = [cluster.here["/usr/local/bin/etcdctl"], f"--endpoints={endpoint}", f"--cacert={tmp_path / 'ca.crt'}"]
    ctl += [f"--cert={tmp_path / 'own.crt'}", f"--key={tmp_path / 'own.key'}"]
    if not ctl[0]:
        pytest.skip("there is no etcdctl")
    with running([cluster.here["/usr/local/bin/etcd"], *flags], {}, log := tmp_path / "etcd.log") as process:
        health = [*ctl, "endpoint", "health"]
        wait_until(lambda: subprocess.run(health, capture_output=True).returncode == 0, process, log)
        for words in (
            "user add root:root",
            "user grant-role root root",
            "role add kubernetes",
            "role grant-permission kubernetes --prefix=true readwrite /kubernetes/",
            "user add gateway:secret",
            "user grant-role gateway kubernetes",
            "auth enable",
        ):
            run([*ctl, "--command-timeout=60s", *words.split()], {}, tmp_path)
        yield endpoint


def test_an_etcd_of_others_with_tls_and_a_user(cluster: Pods, guarded: str, tmp_path: Path) -> None:
    """Two workers use it. When they are stopped, watches end regularly, and no answer is cut off."""
    secrets = "/api/v1/namespaces/default/secrets"
    tls = {"metadata": {"name": "etcd-tls"}, "data": cluster.read("secrets", f"{NAME}-etcd-client")["data"]}
    user = {"metadata": {"name": "etcd-user"}, "stringData": {"username": "gateway", "password": "secret"}}
    for each in (tls, user):
        ask(cluster.server, "POST", secrets, each)
    (values := tmp_path / "values.yaml").write_text(EXTERNAL.format(endpoint=guarded))
    helm = [binary("helm"), "--kubeconfig", cluster.server.kubeconfig]
    with running_jobs(cluster.server, tmp_path):
        subprocess.run([*helm, "install", "other", CHART, "--values", values], check=True, capture_output=True)
        _await_jobs(cluster.server)
    name = "other-apiserver-gateway"
    pod = pod_of(cluster.read("apps/v1/deployments", name))
    run(*cluster.process(pod, pod["initContainers"][0], name), tmp_path)
    (port,) = free_ports(1)
    here = {"--secure-port=6443": f"--secure-port={port}", "0.0.0.0": "127.0.0.1"}
    words, environment = cluster.process(pod, pod["containers"][0], name, here)
    assert environment["APISERVER_GATEWAY_EVENT_TTL"] == "5m" and "--workers=2" in words
    with running(words, environment, log := tmp_path / "log") as process:
        wait_until(lambda: answers(f"https://127.0.0.1:{port}/readyz"), process, log)
        path = f"https://127.0.0.1:{port}/api/v1/namespaces?watch=true&fieldSelector=metadata.name%3Ddefault"
        request = urllib.request.Request(path)
        request.add_header("Authorization", f"Bearer {cluster.secret(f'{name}-identity')['admin-token'].decode()}")
        with urllib.request.urlopen(request, timeout=60, context=ssl._create_unverified_context()) as watch:
            assert b'"ADDED"' in watch.readline()
            process.terminate()
            assert watch.read() == b"", "the stream ends, and whole"
