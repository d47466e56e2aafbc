"""A crash of a process that runs tests ends the whole run as failed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.plugins import OURS

ROOT = Path(__file__).parents[2]
DIES = "import os, signal\n\ndef test_it():\n    os.kill(os.getpid(), signal.SIGKILL)\n"


def test_a_crash_ends_the_run_and_no_other_worker_comes(tmp_path: Path) -> None:
    """A replacement worker may get a file with one test, and wait for ever for the next file."""
    for number in range(3):
        (tmp_path / f"test_{number}.py").write_text(DIES, encoding="utf-8")
    words = (sys.executable, "-m", "pytest", "-c", str(ROOT / "pyproject.toml"), "--rootdir", str(tmp_path))
    more = (*OURS, "-p", "no:cacheprovider", "-n", "1", "--dist", "loadfile", str(tmp_path))
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run([*words, *more], cwd=tmp_path, env=clean, capture_output=True, text=True, timeout=300)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 failed" in done.stdout, done.stdout  # each of those that come instead would fail, too
