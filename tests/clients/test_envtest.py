"""envtest of controller-runtime starts the gateway as its kube-apiserver; the Go program is in envtest/."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from apiserver_gateway.program import command
from tests.clients.golang import PATIENT, built


@pytest.mark.parametrize("arguments", [[], ["controllers"], ["options"]])
def test_a_suite_of_envtest_passes(tmp_path: Path, arguments: list[str]) -> None:
    """Without controllers, as with kube-apiserver, no object is garbage-collected; with controllers, as in a cluster.

    With options: the ports, directories, outputs and flags of envtest's ControlPlane are used.
    """
    program = built("envtest")
    made = subprocess.run(command("envtest-assets", str(tmp_path)), capture_output=True, text=True, check=True)
    environment = {**os.environ, **PATIENT, "KUBEBUILDER_ASSETS": made.stdout.strip()}
    outcome = subprocess.run([program, *arguments], env=environment, capture_output=True, text=True, timeout=250)
    assert outcome.returncode == 0 and outcome.stdout.splitlines()[-1] == "passed", outcome.stdout + outcome.stderr
