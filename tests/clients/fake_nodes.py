"""kwok, which simulates nodes and pods, and answers for their kubelets."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.clients.golang import built
from tests.ports import free_ports

TAR = """\
#!{python}
import sys, tarfile
if sys.argv[1].startswith("-x"):
    tarfile.open(fileobj=open(0, "rb", buffering=0), mode="r|", bufsize=512).extractall(sys.argv[-1])
else:
    import os
    os.execv("/usr/bin/tar", sys.argv)
"""
STAGES = Path(__file__).parents[2] / "deploy" / "kwok" / "stages.yaml"
LABEL = "kept-by"


@contextmanager
def kwok(
    kubeconfig: Path, directory: Path, name: str, sessions: Mapping[str, Mapping[str, Any]]
) -> Iterator[subprocess.Popen[bytes]]:
    """Runs a kwok that manages the nodes with the label `kept-by: NAME`. `sessions` are specs of its kinds, for all
    pods.

    It does not tell commands the end of their input, so its `tar` stops at the end of the archive.
    """
    program = built("kwok")
    answers, (port,) = directory / f"{name}.json", free_ports(1)
    answers.write_text("\n---\n".join(json.dumps(_for_all(kind, spec)) for kind, spec in sessions.items()))
    command = [str(program), f"--kubeconfig={kubeconfig}", f"--config={STAGES}", f"--config={answers}"]
    command += [f"--manage-nodes-with-label-selector={LABEL}={name}", "--manage-all-nodes=false"]
    command += ["--node-ip=127.0.0.1", f"--node-port={port}", f"--server-address=127.0.0.1:{port}"]
    commands = directory / "bin"
    commands.mkdir(exist_ok=True)
    (commands / "tar").write_text(TAR.format(python=sys.executable))
    (commands / "tar").chmod(0o755)
    environment = {"PATH": f"{commands}:/usr/bin:/bin", "HOME": str(directory)}
    with (directory / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(60)


def node(name: str, keeper: str) -> dict[str, Any]:
    """A node that kwok manages."""
    metadata = {"name": name, "labels": {LABEL: keeper}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata}


def pod(name: str, on: str, containers: Sequence[str] = ("c",)) -> dict[str, Any]:
    """A pod that is bound to a node."""
    spec = {"nodeName": on, "containers": [{"name": each, "image": "web:1"} for each in containers]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def _for_all(kind: str, spec: Mapping[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": kind, "metadata": {"name": "all"}, "spec": spec}
