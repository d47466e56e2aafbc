"""Records how long each test took, for the table at the end of the gate (.ci/times.py).

With APISERVER_GATEWAY_TIMES=FILE each line of that file has a test's name and the seconds of one of its phases.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

FILE = os.environ.get("APISERVER_GATEWAY_TIMES", "")


def note(report: pytest.TestReport) -> None:
    """Records a phase of a test. A fixture's time counts for the first test that uses it."""
    if FILE and "PYTEST_XDIST_WORKER" not in os.environ:
        with Path(FILE).open("a", encoding="utf-8") as file:
            file.write(json.dumps([report.nodeid, round(report.duration, 3)]) + "\n")
