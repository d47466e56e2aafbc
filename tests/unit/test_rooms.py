"""gateway/ and each package in it has a short README that leads to its files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

GATEWAY = Path(__file__).parents[2] / "gateway"
ROOMS = sorted(path.parent.relative_to(GATEWAY).as_posix() for path in GATEWAY.rglob("__init__.py"))
SECTIONS = ["## Terms", "## What always holds", "## Read in this order"]
LINES = 60
WORDS = 800


@pytest.mark.parametrize("room", ROOMS)
def test_the_page_of_a_room_is_short_and_leads_to_files_that_exist(room: str) -> None:
    page = (GATEWAY / room / "README.md").read_text(encoding="utf-8")
    assert page.startswith("# gateway\n" if room == "." else f"# gateway/{room}\n")
    assert [line for line in page.splitlines() if line.startswith("## ")] == SECTIONS
    assert page.count("\n") <= LINES
    linked = re.findall(r"\]\(([^)]+)\)", page)
    assert linked
    assert [each for each in linked if not (GATEWAY / room / each).is_file()] == []


def test_the_overview_is_one_page() -> None:
    page = (GATEWAY.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert len(page.split()) <= WORDS
