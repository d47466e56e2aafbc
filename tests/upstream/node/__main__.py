"""Real nodes: `python -m tests.upstream node build`, `test [pytest's arguments]`, `conformance` and `speed`.

`build` builds what is missing; it takes about half an hour the first time. `test` runs the tests on one node where the
machine can have one and all is built; elsewhere one line says why not, and the exit status is 0: nothing was tested.
`conformance` runs the [Conformance] specs of Kubernetes' e2e.test on two nodes, and builds what it lacks. The variables
KUBERNETES (1.37.2) and FOCUS (a regular expression) say of which version, and which specs. `speed` measures how fast
pods become Running, beside a kube-apiserver.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.engine import tools
from tests.upstream.node import component_images, conformance, control_plane, images, programs, speed, suite_images
from tests.upstream.node.cluster import NoNodes, want
from tests.upstream.node.conftest import MARK


def main(words: list[str]) -> int:
    """The exit status."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    match words:
        case ["build"]:
            return _build()
        case ["test", *more]:
            try:
                want()
            except NoNodes as error:
                print(f"SKIPPED: no tests on real nodes: {error}", flush=True)
                return 0
            os.environ[MARK] = "1"
            pytest = [sys.executable, "-m", "pytest", "-o", "timeout=600", "tests/upstream/node", *more]
            return subprocess.run(pytest, cwd=programs.ROOT).returncode
        case ["conformance", *more]:
            return _conformance(more)
        case ["speed", *more]:
            return _speed(more)
    print(__doc__, file=sys.stderr)
    return 2


def _build(*, for_suite: bool = False) -> int:
    try:
        programs.build()
        images.build()
        component_images.build()
        tools.build_tree(tools.BASE)
        if for_suite:
            programs.build_suite()
            suite_images.build()
    except (tools.Broken, tools.Missing) as error:
        print(f"what nodes are made of cannot be built: {error}", flush=True)
        return 1
    return 0


def _conformance(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.upstream node conformance")
    parser.add_argument("--real", action="store_true", help="on a kube-apiserver, to tell whose fault a failure is")
    parser.add_argument("--at-once", type=int, default=4, help="specs at a time (4)")
    parser.add_argument(
        "--into", type=Path, default=programs.ROOT / "build" / "conformance", help="where the results go"
    )
    parser.add_argument("--labels", default="Conformance", help="a filter of Ginkgo's: 'Conformance && !Serial'")
    given = parser.parse_args(words)
    if status := _build(for_suite=True):
        return status
    try:
        want(control_plane.missing() if given.real else ())
    except NoNodes as error:
        print(f"SKIPPED: no conformance on real nodes: {error}", flush=True)
        return 0
    chosen = conformance.Chosen(os.environ.get("FOCUS", ""), given.labels)
    return conformance.run(given.into.absolute(), chosen, is_real=given.real, at_once=given.at_once)


def _speed(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.upstream node speed")
    parser.add_argument("--pods", type=int, default=200, help="pods of the Deployment (200)")
    parser.add_argument("--rounds", type=int, default=3, help="how often (3)")
    parser.add_argument("--keep", action="store_true", help="store medians for the page of measurements")
    given = parser.parse_args(words)
    try:
        want(control_plane.missing())
        return speed.run(given.pods, given.rounds, is_kept=given.keep)
    except NoNodes as error:
        print(f"SKIPPED: no speed of real nodes: {error}", flush=True)
        return 0
