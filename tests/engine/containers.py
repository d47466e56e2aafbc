"""Containers of a test: running commands in them, their state, and their removal."""

from __future__ import annotations

import json
import subprocess
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.engine.images import docker

HOME = "/var/lib/apiserver-gateway"
HEALTH_SECONDS = 180


@dataclass(frozen=True)
class Container:
    """A container that was started."""

    id: str

    def inspect(self) -> dict[str, Any]:
        """The result of `docker inspect`."""
        found: list[dict[str, Any]] = json.loads(docker("inspect", self.id))
        return found[0]

    def exec(self, *words: str, check: bool = True) -> str:
        """Runs a command in the container. Returns its output."""
        return docker("exec", self.id, *words, check=check)

    def logs(self) -> str:
        """Returns the log."""
        return docker("logs", self.id)

    def healthy(self) -> Container:
        """Returns the container once its health check succeeds. Raises AssertionError if it ends or is not healthy in
        time.
        """
        deadline = time.monotonic() + HEALTH_SECONDS
        while (state := self.inspect()["State"]).get("Health", {}).get("Status") != "healthy":
            assert state["Running"] and time.monotonic() < deadline, f"{state}\n{self.logs()}"
            time.sleep(0.2)
        return self

    def memory(self) -> float:
        """The private memory of its processes in MB, as the kernel counts it."""
        total = 0
        listed = docker("top", self.id, "-o", "pid").split()[1:]
        for process in listed:
            with suppress(OSError):  # the process of a health check has ended meanwhile
                for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
                    if line.startswith("Pss:"):
                        total += int(line.split()[1])
        return total / 1024


@contextmanager
def run(image: str, *words: str, options: Sequence[str] = ()) -> Iterator[Container]:
    """Starts a container in the background. It is removed at the end of the block."""
    name = f"test-{uuid.uuid4().hex[:12]}"
    try:
        docker("run", "--detach", f"--name={name}", *options, image, *words)
        yield Container(name)
    finally:
        subprocess.run(["docker", "rm", "--force", "--volumes", name], capture_output=True)


@contextmanager
def network() -> Iterator[str]:
    """Makes a network. Yields its name."""
    name = f"test-{uuid.uuid4().hex[:12]}"
    docker("network", "create", name)
    try:
        yield name
    finally:
        subprocess.run(["docker", "network", "rm", name], capture_output=True)
