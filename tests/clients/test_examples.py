"""The projects of examples/, tested like a user's copy of one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from apiserver_gateway.program import command
from tests import plugins
from tests.clients.golang import PATIENT, suite_of

EXAMPLES = Path(__file__).parents[2] / "examples"
ROOT = EXAMPLES.parent


def test_the_operator_in_python() -> None:
    more = ("-p", "apiserver_gateway.testing.plugin", *plugins.OURS)
    # the environment's metadata may be older than the plug-in's entry point
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_ADDOPTS": " ".join(more)}
    words = [sys.executable, "-m", "pytest", "-q", "-o", "addopts=", "--rootdir", EXAMPLES / "python-kopf"]
    outcome = subprocess.run(
        [*words, "test_teams.py"],
        cwd=EXAMPLES / "python-kopf",
        env=environment,
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert outcome.returncode == 0, outcome.stdout[-8000:]
    assert "10 passed" in outcome.stdout


def test_the_operator_in_go(tmp_path: Path) -> None:
    program = suite_of(EXAMPLES / "go-controller-runtime")
    made = subprocess.run(command("envtest-assets", str(tmp_path)), capture_output=True, text=True, check=True)
    environment = {**os.environ, **PATIENT, "KUBEBUILDER_ASSETS": made.stdout.strip()}
    outcome = subprocess.run(
        [program, "-test.v"],
        cwd=EXAMPLES / "go-controller-runtime",
        env=environment,
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert outcome.returncode == 0 and outcome.stdout.count("--- PASS: Test") == 7 + 3, outcome.stdout[-8000:]
