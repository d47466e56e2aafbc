"""Each minor answers like the recorded kube-apiserver, except for the cases in its list in .ci/.

CONFORMANCE_DIR is the directory of the recordings. What is found of the default minor is written to CONFORMANCE_REPORT,
if it names a file. `.ci/run` makes one comparison after the other, and nothing beside them.
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
REPORT = os.environ.get("CONFORMANCE_REPORT", "")


@pytest.mark.long
@pytest.mark.timeout(1200)  # 425 scenarios, while other tests run
@pytest.mark.parametrize("minor", GIT_VERSIONS)
def test_a_minor_answers_as_recorded(minor: str) -> None:
    if not (Path(RECORDINGS) / golden_of(minor)).is_dir() or not RECORDINGS:
        pytest.skip("there are no recordings of kube-apiserver (set CONFORMANCE_DIR)")
    command = [sys.executable, "-m", "tests.upstream", "conformance", RECORDINGS, f"--golden={golden_of(minor)}"]
    command += [f"--report={REPORT}"] if REPORT and minor == DEFAULT else []
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    print(done.stdout)
    assert done.returncode == 0, done.stderr[-2000:]
