"""The Go library that Kubernetes' own components use: typed informers in protobuf, metadata informers, dynamic ones.

The program is built once and kept, by what it is made of, in the cache directory.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from gateway.testing import ApiServer
from tests.clients.command import Kubectl

SOURCE = Path(__file__).parent / "informers"
BUILDING = 600.0  # seconds that a first build may take


@pytest.fixture(scope="session")
def informers() -> Path:
    """The program."""
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(SOURCE.iterdir()))).hexdigest()[:16]
    kept = Path(os.environ.get("APISERVER_GATEWAY_CACHE") or Path.home() / ".cache" / "apiserver-gateway")
    program = kept / f"informers-{digest}"
    if program.exists():
        return program
    go = shutil.which("go")
    if go is None:
        pytest.skip("Go is not at hand")
    kept.mkdir(parents=True, exist_ok=True)
    unfinished = kept / f"informers-{digest}.{os.getpid()}"
    environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-buildvcs=false"}
    built = subprocess.run(
        [go, "build", "-o", unfinished, "."], cwd=SOURCE, env=environment, capture_output=True, timeout=BUILDING
    )
    if built.returncode:
        pytest.skip(f"the program cannot be built here: {built.stderr.decode()[-500:]}")
    unfinished.replace(program)
    return program


def test_informers_of_all_sorts_follow_changes(informers: Path, server: ApiServer, kubectl: Kubectl) -> None:
    command = [informers, f"-kubeconfig={server.kubeconfig}", f"-namespace={kubectl.namespace}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["informers"] == 36
    assert not done.stderr  # client-go warns there of what it could not read
