"""Programs in Go that tests run: each is a directory here, built once and kept in a cache, by what it is made of."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

BUILD_SECONDS = 480  # the first time, with nothing in Go's caches


def built(name: str) -> Path:
    """The program of the directory `name`; the test is skipped where no Go is, and fails where Go can't build it."""
    directory = Path(__file__).with_name(name)
    digest = hashlib.sha256(b"".join(each.read_bytes() for each in sorted(directory.iterdir()))).hexdigest()[:16]
    cache = Path(os.environ.get("APISERVER_GATEWAY_CACHE") or Path.home() / ".cache" / "apiserver-gateway")
    program = cache / "programs" / f"{name}-{digest}" / name
    if program.exists():
        return program
    go = shutil.which("go")
    if go is None:
        pytest.skip("there is no Go here")
    program.parent.mkdir(parents=True, exist_ok=True)
    unfinished = program.with_name(f"{name}.{os.getpid()}")
    building = [go, "build", "-mod=readonly", "-o", str(unfinished), "."]
    environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-buildvcs=false"}
    try:
        outcome = subprocess.run(
            building, cwd=directory, env=environment, capture_output=True, text=True, timeout=BUILD_SECONDS
        )
    except subprocess.TimeoutExpired:
        pytest.fail(f"the program could not be built in {BUILD_SECONDS} s")
    if outcome.returncode:
        pytest.fail(f"the program could not be built: {outcome.stderr.strip()[-2000:]}")
    unfinished.replace(program)
    return program
