"""Go programs for tests. Each is a directory here, and is built once into a cache, by a digest of its sources.

A directory with only a go.mod names a program of another project, as a tool. `python3 -m tests.clients.golang` builds
all of them. It needs no virtual environment, so it can run while one is made.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

BUILD_SECONDS = 480  # the first time, with empty caches of Go
HERE = Path(__file__).parent
PACKAGES = {  # programs whose main package is in another directory of their module
    "actionlint": "github.com/rhysd/actionlint/cmd/actionlint",
    "kwok": "sigs.k8s.io/kwok/cmd/kwok",
    "wardle": "k8s.io/sample-apiserver",
}
PATIENT = {  # for envtest, which waits 20 s for a server's start or stop
    "KUBEBUILDER_CONTROLPLANE_START_TIMEOUT": "120s",
    "KUBEBUILDER_CONTROLPLANE_STOP_TIMEOUT": "60s",
}
EXAMPLE = HERE.parents[1] / "examples" / "go-controller-runtime"


class NotBuilt(Exception):
    """Go could not build a program; the message says why."""


class NoGo(Exception):
    """Go is not installed."""


def built(name: str) -> Path:
    """The path of the program of the directory `name`. Skips the test without Go, and fails it if the build fails."""
    return _for_a_test(HERE / name, ["build"], PACKAGES.get(name, "."))


def program(name: str) -> Path:
    """The path of the program of the directory `name`, outside of tests. Raises NoGo, NotBuilt."""
    return _made(HERE / name, ["build"], PACKAGES.get(name, "."))


def suite_of(directory: Path) -> Path:
    """The path of the program that runs a module's tests. Skips and fails like `built`."""
    return _for_a_test(directory, ["test", "-c"], ".")


def _for_a_test(directory: Path, verb: list[str], package: str) -> Path:
    import pytest

    try:
        return _made(directory, verb, package)
    except NoGo as error:
        pytest.skip(str(error))
    except NotBuilt as error:
        pytest.fail(str(error))


def _made(directory: Path, verb: list[str], package: str) -> Path:
    """The path of the program, from the cache if it is there. Raises NoGo, NotBuilt."""
    sources = b"".join(each.read_bytes() for each in sorted(directory.iterdir()) if each.is_file())
    name, digest = directory.name, hashlib.sha256(sources).hexdigest()[:16]
    cache = Path(os.environ.get("APISERVER_GATEWAY_CACHE") or Path.home() / ".cache" / "apiserver-gateway")
    program = cache / "programs" / f"{name}-{digest}" / name
    if program.exists():
        return program
    go = shutil.which("go")
    if go is None:
        raise NoGo("there is no Go here")
    program.parent.mkdir(parents=True, exist_ok=True)
    unfinished = program.with_name(f"{name}.{os.getpid()}")
    building = [go, *verb, "-mod=readonly", "-o", str(unfinished), package]
    environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-buildvcs=false"}
    try:
        outcome = subprocess.run(
            building, cwd=directory, env=environment, capture_output=True, text=True, timeout=BUILD_SECONDS
        )
    except subprocess.TimeoutExpired:
        raise NotBuilt(f"{name} could not be built in {BUILD_SECONDS} s") from None
    if outcome.returncode:
        raise NotBuilt(f"{name} could not be built: {outcome.stderr.strip()[-2000:]}")
    unfinished.replace(program)
    return program


def main() -> int:
    """Builds all programs, those for the first tests first. Returns the exit status: 1 if one could not be built."""
    modules = sorted((each.parent for each in HERE.glob("*/go.mod")), key=lambda each: each.name in PACKAGES)
    programs = [(directory, ["build"], PACKAGES.get(directory.name, ".")) for directory in modules]
    status = 0
    for directory, verb, package in (*programs, (EXAMPLE, ["test", "-c"], ".")):
        try:
            print(_made(directory, verb, package))
        except (NoGo, NotBuilt) as error:
            print(error)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
