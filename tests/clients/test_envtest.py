"""Go's envtest, of controller-runtime, starts the gateway as its kube-apiserver: the program is in envtest/."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from apiserver_gateway.program import command

SOURCES = Path(__file__).with_name("envtest")
BUILD_SECONDS = 480  # the first time, with nothing in Go's caches


def built() -> Path:
    """The program; it is kept in a cache, and built anew when its sources change."""
    go = shutil.which("go")
    if go is None:
        pytest.skip("there is no Go here")
    sources = sorted(SOURCES.iterdir())
    digest = hashlib.sha256(b"".join(each.read_bytes() for each in sources)).hexdigest()[:16]
    cache = Path(os.environ.get("APISERVER_GATEWAY_CACHE") or Path.home() / ".cache" / "apiserver-gateway")
    program = cache / f"envtest-{digest}" / "envtest"
    if not program.exists():
        program.parent.mkdir(parents=True, exist_ok=True)
        unfinished = program.with_name(f"envtest.{os.getpid()}")
        building = [go, "build", "-mod=readonly", "-o", str(unfinished), "."]
        environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": ""}
        try:
            outcome = subprocess.run(
                building, cwd=SOURCES, env=environment, capture_output=True, text=True, timeout=BUILD_SECONDS
            )
        except subprocess.TimeoutExpired:
            pytest.skip(f"the program could not be built in {BUILD_SECONDS} s")
        if outcome.returncode:
            pytest.skip(f"the program could not be built: {outcome.stderr.strip().splitlines()[-1]}")
        unfinished.replace(program)
    return program


def test_a_suite_of_envtest_passes(tmp_path: Path) -> None:
    program = built()
    made = subprocess.run(command("envtest-assets", str(tmp_path)), capture_output=True, text=True, check=True)
    environment = {**os.environ, "KUBEBUILDER_ASSETS": made.stdout.strip()}
    outcome = subprocess.run([program], env=environment, capture_output=True, text=True, timeout=120)
    assert outcome.returncode == 0 and outcome.stdout.splitlines()[-1] == "passed", outcome.stdout + outcome.stderr
