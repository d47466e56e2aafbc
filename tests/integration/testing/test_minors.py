"""The other minors answer like the recorded kube-apiserver, except for the cases in their lists in .ci/.

`.ci/run` checks the default minor. CONFORMANCE_DIR is the directory of the recordings.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.release.minors import DEFAULT, GIT_VERSIONS
from tests.upstream.conformance import golden_of

ROOT = Path(__file__).parents[3]
RECORDINGS = os.environ.get("CONFORMANCE_DIR", "")


@pytest.mark.long
@pytest.mark.timeout(1200)  # 425 scenarios, while other tests run
@pytest.mark.parametrize("minor", [minor for minor in GIT_VERSIONS if minor != DEFAULT])
def test_a_minor_answers_as_recorded(minor: str) -> None:
    if not (Path(RECORDINGS) / golden_of(minor)).is_dir() or not RECORDINGS:
        pytest.skip("there are no recordings of kube-apiserver (set CONFORMANCE_DIR)")
    command = [sys.executable, "-m", "tests.upstream", "conformance", RECORDINGS, f"--golden={golden_of(minor)}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
