"""The workflows of this project, and those in its documentation, pass actionlint and the rules for a release."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.clients.golang import built

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted([*(ROOT / ".github" / "workflows").glob("*.yml"), *(ROOT / "examples").rglob("workflows/*.yml")])


def findings(*files: Path) -> str:
    """The findings of actionlint, one a line."""
    words = [built("actionlint"), "-no-color", "-oneline", "-shellcheck=", "-pyflakes=", *files]
    return subprocess.run(words, capture_output=True, text=True, timeout=120).stdout


def test_actionlint_finds_nothing(tmp_path: Path) -> None:
    broken = tmp_path / "broken.yml"
    broken.write_text(WORKFLOWS[0].read_text().replace("runs-on:", "runs-onto:"))
    assert "runs-onto" in findings(broken), "it does look"
    assert findings(*WORKFLOWS) == ""


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_actions_of_others_are_pinned(workflow: Path) -> None:
    used = re.findall(r"uses: *(\S+)(.*)", workflow.read_text())
    assert used
    for action, comment in used:
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action), action
        assert re.fullmatch(r" # v[\d.]+", comment), f"{action}: say which version that is"
