"""Running kubectl and helm as a person would, and reading what they print."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

TIMEOUT = 150.0


class Command:
    """A program with its kubeconfig and namespace. Calling it gives what it printed; a failure is an AssertionError."""

    def __init__(self, program: Path, kubeconfig: Path, home: Path, namespace: str) -> None:
        self.program = program
        self.namespace = namespace
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("KUBE", "HELM"))},
            "KUBECONFIG": str(kubeconfig),
            "KUBECACHEDIR": str(home / "cache"),
            "HOME": str(home),
        }

    def __call__(
        self,
        *arguments: str,
        given: Any = None,
        environment: Mapping[str, str] | None = None,
        patience: float = TIMEOUT,
    ) -> str:
        """Standard output; `given` goes to standard input, as it is or as JSON."""
        done = self.run(*arguments, given=given, environment=environment, patience=patience)
        assert done.returncode == 0, f"{' '.join(arguments)}: {done.stderr}{done.stdout}"
        return done.stdout

    def run(
        self,
        *arguments: str,
        given: Any = None,
        environment: Mapping[str, str] | None = None,
        patience: float = TIMEOUT,
    ) -> subprocess.CompletedProcess[str]:
        """The whole outcome, whether it worked or not."""
        return subprocess.run(
            self.line(*arguments),
            env={**self.environment, **(environment or {})},
            input=given if given is None or isinstance(given, str) else json.dumps(given),
            capture_output=True,
            text=True,
            timeout=patience,
        )

    def line(self, *arguments: str) -> list[str]:
        """The command line."""
        return [str(self.program), f"--namespace={self.namespace}", *arguments]

    @contextmanager
    def running(self, *arguments: str) -> Iterator[subprocess.Popen[str]]:
        """A command that goes on until it is stopped; its output is read line by line."""
        process = subprocess.Popen(
            self.line(*arguments), env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        try:
            yield process
        finally:
            process.kill()
            process.communicate()


class Kubectl(Command):
    """kubectl."""

    def get(self, *what: str) -> Any:
        """The object or list that `kubectl get WHAT -o json` prints."""
        return json.loads(self("get", *what, "-o", "json"))

    def names(self, *what: str) -> list[str]:
        """TYPE/NAME of each object that `kubectl get WHAT` finds."""
        return self("get", *what, "-o", "name").split()


class Helm(Command):
    """helm."""
