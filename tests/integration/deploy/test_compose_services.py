"""The services of docker-compose.yml as processes, ready by their health checks; a backup, and its restore."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from storage.embedded import binary_version, find_binary
from tests.clients.binaries import binary
from tests.integration.deploy.containers import run, running, translated, wait_until
from tests.ports import free_ports

ROOT = Path(__file__).parents[3]
SERVICES: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
KUBECONFIG = Path("gateway-data") / "kubeconfig"


class Project:
    """The project: its volumes are directories, its services' addresses ports of this machine."""

    def __init__(self, directory: Path) -> None:
        etcd = find_binary()
        if binary_version(etcd) < (3, 6, 0):
            pytest.skip("the services are for etcd 3.6")
        self.directory = directory
        self.tools = {f"/usr/local/bin/{name}": _beside(etcd, name) for name in ("etcdctl", "etcdutl")}
        self.programs = {"/usr/local/bin/etcd": str(etcd), "/opt/gateway/bin/python": sys.executable, **self.tools}
        names = [name for name in SERVICES if re.match("etcd|gateway|load", name)]
        ports = iter(free_ports(2 * len(names)))
        self.addresses: dict[str, dict[int, str]] = {}
        for name in names:
            inside = (6443,) if "etcd" not in name else (2379, 2380)
            self.addresses[name] = {port: f"127.0.0.1:{next(ports)}" for port in inside}

    def words(self, name: str, words: list[str]) -> list[str]:
        """A command of the service as it is here."""
        service = SERVICES[name]
        here = dict(self.programs)
        for volume in service.get("volumes", ()):
            source, _, target = volume.partition(":")
            here[target] = str(self.directory / source)
            (self.directory / source).mkdir(exist_ok=True)
        for other, ports in self.addresses.items():
            here |= {f"//{other}:{port}": f"//{address}" for port, address in ports.items()}
        for port, address in self.addresses.get(name, {}).items():
            here |= {f"0.0.0.0:{port}": address, f"127.0.0.1:{port}": address}
            here |= {f"--secure-port={port}": f"--secure-port={address.rpartition(':')[2]} --bind-address=127.0.0.1"}
        here |= {"$$": "$", "${BACKUP_FROM:-http://etcd:2379}": f"http://{self.addresses['etcd'][2379]}"}
        here["${SNAPSHOT:-snapshot}"] = "snapshot"
        return [part for word in words for part in _split(translated(word, here))]

    def command(self, name: str) -> list[str]:
        """What the service's container runs."""
        service = SERVICES[name]
        words = [*service.get("entrypoint", ()), *service["command"]]
        if words[0] == "serve":
            words = [sys.executable, "-m", "gateway", *words]
        return self.words(name, words)

    @contextmanager
    def up(self, *names: str) -> Iterator[None]:
        """The services, started in this order; each is waited for when another depends on it, or in the end."""
        waiting: dict[str, tuple[subprocess.Popen[bytes], Path]] = {}
        with ExitStack() as stack:
            for name in names:
                for other in SERVICES[name].get("depends_on", ()):
                    if other in waiting:
                        self.wait(other, *waiting.pop(other))
                log = self.directory / f"{name}.log"
                waiting[name] = (stack.enter_context(running(self.command(name), {}, log)), log)
            for name, (process, log) in waiting.items():
                self.wait(name, process, log)
            yield

    def wait(self, name: str, process: subprocess.Popen[bytes], log: Path) -> None:
        """Until the service is healthy."""
        check = self.words(name, SERVICES[name]["healthcheck"]["test"][1:])
        wait_until(lambda: subprocess.run(check, capture_output=True, timeout=60).returncode == 0, process, log)

    def once(self, name: str) -> str:
        """Runs a one-off service."""
        return run(self.command(name), {}, self.directory)

    def kubectl(self, kubeconfig: Path, *words: str) -> str:
        """What kubectl prints."""
        environment = {"KUBECONFIG": str(self.directory / kubeconfig), "HOME": str(self.directory)}
        return run([str(binary("kubectl")), *words], environment, self.directory)


def _beside(etcd: Path, name: str) -> str:
    return shutil.which(name, path=str(etcd.parent)) or shutil.which(name) or ""


def _split(word: str) -> list[str]:
    return word.split(" ") if word.startswith("--secure-port=") else [word]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path)
    if not all(made.tools.values()):
        pytest.skip("there are no etcdctl and etcdutl")
    return made


def test_a_backup_is_restored(project: Project) -> None:
    with project.up("etcd", "gateway"):
        project.kubectl(KUBECONFIG, "create", "configmap", "kept", "--from-literal=a=b")
        project.once("backup")
        project.kubectl(KUBECONFIG, "delete", "configmap", "kept")
        project.kubectl(KUBECONFIG, "create", "configmap", "later")
        last = int(
            project.kubectl(KUBECONFIG, "get", "configmap", "later", "-o", "jsonpath={.metadata.resourceVersion}")
        )
    for service in ("set-aside", "restore"):
        project.once(service)
    with project.up("etcd", "gateway"):
        listed = json.loads(project.kubectl(KUBECONFIG, "get", "--raw=/api/v1/namespaces/default/configmaps"))
        names = [each["metadata"]["name"] for each in listed["items"]]
        assert "kept" in names and "later" not in names
        assert int(listed["metadata"]["resourceVersion"]) > last


def test_two_gateways_and_three_members_behind_a_load_balancer(project: Project) -> None:
    """One gateway may go: the others' clients notice nothing."""
    gateways, kubeconfig = ("gateway-0", "gateway-1"), Path("gateways-data") / "kubeconfig"
    with project.up("etcd-0", "etcd-1", "etcd-2", "gateway-0"):
        with project.up("gateway-1"):
            for name in gateways:
                server = f"--server=https://{project.addresses[name][6443]}"
                assert "default" in project.kubectl(kubeconfig, "get", "namespaces", "-o", "name", server)
            if not (haproxy := shutil.which("haproxy", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin")):
                pytest.skip("there is no haproxy")
            address = project.addresses["load-balancer"][6443]
            here = {name + ":6443": project.addresses[name][6443] for name in gateways} | {":6443": address}
            (project.directory / "haproxy.cfg").write_text(
                translated((ROOT / "deploy" / "haproxy.cfg").read_text(), here)
            )
            command = [haproxy, "-W", "-db", "-f", str(project.directory / "haproxy.cfg")]
            stack = ExitStack()
            log = project.directory / "load-balancer.log"
            process = stack.enter_context(running(command, {}, log))
        with stack:  # gateway-1 is gone
            server = f"--server=https://{address}"
            ask = [
                str(binary("kubectl")),
                "--kubeconfig",
                str(project.directory / kubeconfig),
                server,
                "get",
                "--raw=/readyz",
            ]
            wait_until(lambda: subprocess.run(ask, capture_output=True).returncode == 0, process, log)
            assert "default" in project.kubectl(kubeconfig, "get", "namespaces", "-o", "name", server)
