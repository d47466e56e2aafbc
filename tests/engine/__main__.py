"""Runs the tests on a Docker engine: `python -m tests.engine [pytest's arguments]`, `python -m tests.engine tools`.

The engine is that of DOCKER_HOST, or a dockerd that is started for the tests and stopped after them; a dockerd needs
root. `tools` makes what the tests need (tools.py), if an engine can run here, and runs no test. If no engine can run
here, one line says so, and the exit status is 0: nothing was tested. If an engine runs and a tool cannot be made, that
is a failure.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

from tests.engine import images, tools
from tests.engine.daemon import NoEngine, engine

MARK = "APISERVER_GATEWAY_TEST_ENGINE"  # tells the tests that the images exist


@contextlib.contextmanager
def found_or_started() -> Iterator[str]:
    """The address of an engine. Raises NoEngine and tools.Missing."""
    if host := os.environ.get("DOCKER_HOST"):
        yield host
    elif os.geteuid():
        raise NoEngine("dockerd wants root")
    else:
        tools.install()
        with engine() as started:
            yield started


def made(words: list[str], host: str) -> int:
    """Makes what is missing, and runs the tests. Returns pytest's exit status. Raises tools.Missing and Broken."""
    began = time.monotonic()
    tools.make()
    print(f"programs and packages are there ({time.monotonic() - began:.0f} s)", flush=True)
    os.environ |= {"DOCKER_HOST": host, "DOCKER_CONFIG": str(tools.compose()), MARK: "1"}
    began = time.monotonic()
    images.load()
    version = images.docker("version", "--format", "{{.Server.Version}}")
    took = time.monotonic() - began
    print(f"Docker Engine {version}, Compose {tools.COMPOSE}; images are built ({took:.0f} s)", flush=True)
    if words == ["tools"]:
        return 0
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-o", "timeout=900", "tests/engine", *words], cwd=tools.ROOT
    ).returncode


def main(words: list[str]) -> int:
    """Returns the exit status."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the engine is stopped then, too
    try:
        with found_or_started() as host:
            return made(words, host)
    except (NoEngine, tools.Missing) as error:
        print(f"SKIPPED: no tests on a Docker engine: {error}", flush=True)
        return 0
    except tools.Broken as error:
        print(f"what the tests on a Docker engine need cannot be made: {error}", flush=True)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
