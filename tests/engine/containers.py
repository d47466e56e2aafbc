"""Containers of a test: what runs in them, how they are, and that they are gone in the end."""

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
        """What the engine knows of it."""
        found: list[dict[str, Any]] = json.loads(docker("inspect", self.id))
        return found[0]

    def exec(self, *words: str, check: bool = True) -> str:
        """What a command in it prints."""
        return docker("exec", self.id, *words, check=check)

    def logs(self) -> str:
        """What it has printed."""
        return docker("logs", self.id)

    def healthy(self) -> Container:
        """The same, once its health check says so. Raises AssertionError when it ends, or is not healthy in time."""
        deadline = time.monotonic() + HEALTH_SECONDS
        while (state := self.inspect()["State"]).get("Health", {}).get("Status") != "healthy":
            assert state["Running"] and time.monotonic() < deadline, f"{state}\n{self.logs()}"
            time.sleep(0.2)
        return self

    def memory(self) -> float:
        """The MB that its processes have for themselves, as the kernel counts them."""
        total = 0
        listed = docker("top", self.id, "-o", "pid").split()[1:]
        for process in listed:
            with suppress(OSError):  # a health check, which has ended meanwhile
                for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
                    if line.startswith("Pss:"):
                        total += int(line.split()[1])
        return total / 1024


@contextmanager
def run(image: str, *words: str, options: Sequence[str] = ()) -> Iterator[Container]:
    """A container that runs in the background; it is removed in the end."""
    name = f"test-{uuid.uuid4().hex[:12]}"
    try:
        docker("run", "--detach", f"--name={name}", *options, image, *words)
        yield Container(name)
    finally:
        subprocess.run(["docker", "rm", "--force", "--volumes", name], capture_output=True)


@contextmanager
def network() -> Iterator[str]:
    """A network, by its name."""
    name = f"test-{uuid.uuid4().hex[:12]}"
    docker("network", "create", name)
    try:
        yield name
    finally:
        subprocess.run(["docker", "network", "rm", name], capture_output=True)
