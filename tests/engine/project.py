"""docker-compose.yml as a project for one test: its name, its port, its images."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import tempfile
import uuid
from pathlib import Path
from typing import Any

from apiserver_gateway.testing import ApiServer
from tests.clients.binaries import binary
from tests.engine import images, tools
from tests.ports import free_ports

HOME = "/var/lib/apiserver-gateway"
UP_SECONDS = 280


class Failed(AssertionError):
    """A command ended with an exit status other than 0. The message is its output."""


class Project:
    """A project. `port` is that of its API server, once one runs."""

    def __init__(self, **variables: str) -> None:
        self.name = f"test{uuid.uuid4().hex[:8]}"
        (port,) = free_ports(1)
        self.port = port
        own = {"COMPOSE_PROJECT_NAME": self.name, "PORT": str(port), "COMPOSE_ANSI": "never"}
        self.environment = {**os.environ, **images.VARIABLES, **own, **variables}
        self._directory = tempfile.TemporaryDirectory(prefix="project-")
        self.kubeconfig = Path(self._directory.name) / "kubeconfig"

    def compose(self, *words: str, **variables: str) -> str:
        """Runs `docker compose`. Returns its output. Raises Failed."""
        return self.run(["docker", "compose", *words], **variables)

    def run(self, words: list[str], **variables: str) -> str:
        """Runs a command in the project's directory and environment. Returns its output. Raises Failed."""
        done = subprocess.run(
            words,
            cwd=tools.ROOT,
            env={**self.environment, **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=UP_SECONDS,
        )
        if done.returncode:
            raise Failed(f"{' '.join(words)} ended with {done.returncode}:\n{done.stdout}")
        return done.stdout

    def up(self, gateway: str = "gateway") -> ApiServer:
        """Starts one etcd and a gateway, or with `gateway-0` the profile ha. Returns access as an administrator."""
        how = ("up", "--detach", "--wait") if gateway == "gateway" else _HA_UP
        self.compose(*how)
        return self.administrator(gateway)

    def administrator(self, gateway: str = "gateway") -> ApiServer:
        """Access to the server at the port, with the kubeconfig that a gateway wrote."""
        self.kubeconfig.unlink(missing_ok=True)
        self.compose("cp", f"{gateway}:{HOME}/kubeconfig", str(self.kubeconfig))
        words = [str(binary("kubectl")), f"--kubeconfig={self.kubeconfig}", "config", "view", "--raw", "-o", "json"]
        config: dict[str, Any] = json.loads(self.run(words))
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        (ca_file := self.kubeconfig.with_name("ca.crt")).write_bytes(
            base64.b64decode(cluster["certificate-authority-data"])
        )
        place = {"directory": self._directory.name, "ca_file": str(ca_file), "kubeconfig": str(self.kubeconfig)}
        return ApiServer.attached({**place, "url": cluster["server"], "token": user["token"], "etcd_endpoint": ""})

    def container(self, service: str) -> str:
        """The id of a service's container."""
        found = self.compose("ps", "--all", "--quiet", service).split()
        assert len(found) == 1, f"{service} has {len(found)} containers"
        return found[0]

    def volumes(self) -> set[str]:
        """The existing volumes of the project, by their names in docker-compose.yml."""
        listed = images.docker("volume", "ls", "--quiet", f"--filter=label=com.docker.compose.project={self.name}")
        return {each.removeprefix(f"{self.name}_") for each in listed.split()}

    def remove(self) -> None:
        """Removes everything of the project, without waiting for containers to stop."""
        label = f"--filter=label=com.docker.compose.project={self.name}"
        for listing, removing in _REMOVALS:
            if found := images.docker(*listing, "--quiet", label).split():
                images.docker(*removing, *found, check=False)
        self._directory.cleanup()


_HA_UP = ("--profile", "ha", "up", "--detach", "--wait", "load-balancer")
_REMOVALS = (
    (("ps", "--all"), ("rm", "--force", "--volumes")),
    (("volume", "ls"), ("volume", "rm", "--force")),
    (("network", "ls"), ("network", "rm")),
)
