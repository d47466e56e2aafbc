"""The etcd members of the chart as processes. Each starts like its pod: init containers first."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.integration.deploy.pods import Pods
from tests.ports import free_ports
from tests.processes import run, wait_until

FIRST, LATER = 1, 120  # seconds that a member waits for others: at a first start none answers


class Members:
    """The members of a StatefulSet. `ports` are three for each: for clients, peers and metrics."""

    def __init__(self, cluster: Pods, name: str) -> None:
        made = cluster.read("apps/v1/statefulsets", name)
        self.cluster, self.name, self.pod = cluster, name, made["spec"]["template"]["spec"]
        self.count: int = made["spec"]["replicas"]
        self.patience = FIRST
        self.ports = free_ports(3 * self.count)
        self.running: dict[int, subprocess.Popen[bytes]] = {}
        for member in range(self.count):
            for index, port in enumerate((2379, 2380)):
                there = f"{name}-{member}.{name}.{cluster.namespace}.svc:{port}"
                cluster.here[there] = f"127.0.0.1:{self.ports[3 * member + index]}"

    def address(self, member: int, index: int) -> str:
        """The address at which a member listens: 0 for clients, 1 for peers, 2 for metrics."""
        return f"127.0.0.1:{self.ports[3 * member + index]}"

    def data(self, member: int) -> Path:
        """The directory of a member's volume."""
        return self.cluster.directory / f"{self.name}-{member}" / "data"

    def log(self, member: int) -> Path:
        """The output of a member and of its init containers."""
        return self.cluster.directory / f"{self.name}-{member}.log"

    def prepare(self, member: int) -> None:
        """Runs a member's init containers to their end."""
        for container in self.pod["initContainers"]:
            said = run(*self._process(container, member), self.cluster.directory)
            with self.log(member).open("a") as log:
                log.write(said)

    def start(self, member: int) -> None:
        """Starts a member: init containers, then etcd."""
        self.prepare(member)
        (container,) = self.pod["containers"]
        words, environment = self._process(container, member)
        with self.log(member).open("ab") as log:
            process = subprocess.Popen(words, env={**os.environ, **environment}, stdout=log, stderr=log)
        self.running[member] = process

    def await_ready(self, member: int, answers: Any) -> None:
        """Polls the probes as the kubelet does, until the member is ready and alive."""
        (container,) = self.pod["containers"]
        for probe in ("readinessProbe", "livenessProbe"):
            asked = container[probe]["httpGet"]
            assert asked["port"] == "metrics"
            url = f"http://{self.address(member, 2)}{asked['path']}"
            wait_until(lambda url=url: answers(url), self.running[member], self.log(member))  # type: ignore[misc]  # bound now

    def stop(self, *members: int) -> None:
        """Kills members."""
        for member in members or tuple(self.running):
            process = self.running.pop(member)
            process.kill()
            process.wait()

    def lose(self, member: int) -> None:
        """Deletes a member's volume."""
        shutil.rmtree(self.data(member))

    def ctl(self, member: int, *words: str) -> str:
        """The output of etcdctl for one member."""
        tls = self.cluster.directory / f"{self.name}-{member}" / "tls"
        files = [f"--cacert={tls / 'ca.crt'}", f"--cert={tls / 'tls.crt'}", f"--key={tls / 'tls.key'}"]
        program = self.cluster.here["/usr/local/bin/etcdctl"]
        return run(
            [program, f"--endpoints=https://{self.address(member, 0)}", *files, "--command-timeout=60s", *words],
            {},
            tls,
        )

    def _process(self, container: dict[str, Any], member: int) -> tuple[list[str], dict[str, str]]:
        own = {f"0.0.0.0:{2379 + index}": self.address(member, index) for index in range(3)}
        own["--patience=20"] = f"--patience={self.patience}"
        return self.cluster.process(self.pod, container, f"{self.name}-{member}", own)


@contextmanager
def members(cluster: Pods, name: str) -> Iterator[Members]:
    """The members, none of which runs yet. All are killed at the end."""
    made = Members(cluster, name)
    try:
        yield made
    finally:
        made.stop()
