"""A control plane answers like the recorded kube-apiserver, except for the cases in its list in .ci/.

All topics: python -m tests.upstream conformance DIR --control-plane.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.release.minors import DEFAULT
from tests.upstream.conformance import golden_of

ROOT = Path(__file__).parents[3]
RECORDINGS = os.environ.get("CONFORMANCE_DIR", "")
TOPICS = "access,discovery,objects"


@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_control_plane_answers_as_recorded() -> None:
    if not RECORDINGS or not (Path(RECORDINGS) / golden_of(DEFAULT)).is_dir():
        pytest.skip("there are no recordings of kube-apiserver (set CONFORMANCE_DIR)")
    command = [sys.executable, "-m", "tests.upstream", "conformance", RECORDINGS, "--control-plane"]
    done = subprocess.run([*command, f"--topics={TOPICS}"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
