"""Runs the tests on a Docker engine: `python -m tests.engine [pytest's arguments]`, `python -m tests.engine tools`.

The engine is that of DOCKER_HOST, or a dockerd that is started for the tests and stopped after them; that wants root.
`tools` makes what the tests need (tools.py) and runs nothing. Where there can be no engine, or something cannot be
made, one line says so, and the exit status is 0: nothing was tested.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator

from tests.engine import images, tools
from tests.engine.daemon import NoEngine, engine

MARK = "APISERVER_GATEWAY_TEST_ENGINE"  # tells the tests that the images are there


@contextlib.contextmanager
def found_or_started() -> Iterator[str]:
    """The address of an engine. Raises NoEngine."""
    if host := os.environ.get("DOCKER_HOST"):
        yield host
    else:
        with engine() as started:
            yield started


def main(words: list[str]) -> int:
    """Runs the tests; pytest's exit status comes out."""
    began = time.monotonic()
    try:
        tools.make()
    except tools.Missing as error:
        print(f"SKIPPED: no tests on an engine: {error}")
        return 0
    print(f"programs and packages are there ({time.monotonic() - began:.0f} s)", flush=True)
    if words == ["tools"]:
        return 0
    with contextlib.ExitStack() as stack:
        try:
            host = stack.enter_context(found_or_started())
        except NoEngine as error:
            print(f"SKIPPED: no tests on an engine: {error}")
            return 0
        os.environ |= {"DOCKER_HOST": host, "DOCKER_CONFIG": str(tools.compose()), MARK: "1"}
        began = time.monotonic()
        images.load()
        version = images.docker("version", "--format", "{{.Server.Version}}")
        took = time.monotonic() - began
        print(f"Docker Engine {version}, Compose {tools.COMPOSE}; images are built ({took:.0f} s)", flush=True)
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-o", "timeout=900", "tests/engine", *words], cwd=tools.ROOT
        ).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
