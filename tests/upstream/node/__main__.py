"""Real nodes on this server: `python -m tests.upstream node build`, or `test [pytest's arguments]`.

`build` builds what is missing; it takes about half an hour the first time. `test` runs the tests on one node where the
machine can have one and all is built; elsewhere one line says why not, and the exit status is 0: nothing was tested.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from tests.engine.tools import Broken
from tests.upstream.node import images, programs
from tests.upstream.node.cluster import NoNodes, want
from tests.upstream.node.conftest import MARK


def main(words: list[str]) -> int:
    """The exit status."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    match words:
        case ["build"]:
            try:
                programs.build()
                images.build()
            except Broken as error:
                print(f"what nodes are made of cannot be built: {error}", flush=True)
                return 1
            return 0
        case ["test", *more]:
            try:
                want()
            except NoNodes as error:
                print(f"SKIPPED: no tests on real nodes: {error}", flush=True)
                return 0
            os.environ[MARK] = "1"
            pytest = [sys.executable, "-m", "pytest", "-o", "timeout=600", "tests/upstream/node", *more]
            return subprocess.run(pytest, cwd=programs.ROOT).returncode
    print(__doc__, file=sys.stderr)
    return 2
