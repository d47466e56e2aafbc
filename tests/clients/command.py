"""Runs kubectl and helm, and reads their output."""

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
    """A program with its kubeconfig and namespace. A call returns its output; a failure raises AssertionError."""

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
        """Returns the standard output. `given` goes to standard input: text as it is, other values as JSON."""
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
        """The completed process, also after a failure."""
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
        """A command that runs until it is stopped. Its output is read line by line."""
        process = subprocess.Popen(
            self.line(*arguments), env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        try:
            yield process
        finally:
            process.kill()
            process.communicate()


class Kubectl(Command):
    """kubectl with a kubeconfig and a namespace."""

    def get(self, *what: str) -> Any:
        """The object or list that `kubectl get WHAT -o json` prints."""
        return json.loads(self("get", *what, "-o", "json"))

    def names(self, *what: str) -> list[str]:
        """TYPE/NAME of each object that `kubectl get WHAT` finds."""
        return self("get", *what, "-o", "name").split()


class Helm(Command):
    """helm with a kubeconfig and a namespace."""
