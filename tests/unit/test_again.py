"""Which tests of a run that has failed the gate runs once more, and what comes of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

AGAIN = Path(__file__).resolve().parents[2] / "hack" / "again.py"
TESTS = """
from pathlib import Path
import pytest

@pytest.mark.parametrize("number", range({chance}))
def test_chance(number):
    place = Path(f"seen-{{number}}")
    if not place.exists():
        place.touch()
        pytest.fail("by chance")

def test_always():
    assert {right}

def test_good():
    with Path("good").open("a") as good:
        good.write("once")
"""


@pytest.mark.parametrize(
    ("chance", "right", "status", "words"),
    [(2, True, 0, "test_chance[1]"), (1, False, 1, "test_always"), (4, True, 1, "4 tests have failed")],
)
def test_a_few_that_failed_are_run_once_more(tmp_path: Path, chance: int, right: bool, status: int, words: str) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_it.py").write_text(TESTS.format(chance=chance, right=right))
    cache = ["-o", "cache_dir=left"]
    first = subprocess.run([sys.executable, "-m", "pytest", "-n", "2", *cache], cwd=tmp_path, capture_output=True)
    assert first.returncode == 1, first.stdout
    again = subprocess.run([sys.executable, AGAIN, "left"], cwd=tmp_path, capture_output=True, text=True)
    assert (again.returncode, words in again.stdout) == (status, True), again.stdout
    assert (tmp_path / "good").read_text() == "once"


def test_where_nothing_says_what_failed_nothing_is_run(tmp_path: Path) -> None:
    again = subprocess.run([sys.executable, AGAIN, tmp_path / "none"], capture_output=True, text=True)
    assert (again.returncode, "unknown tests" in again.stdout) == (1, True), again.stdout
