"""docs/architecture/where.md: the code for a sample of the rules of the Kubernetes documentation."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "architecture" / "where.md"
FLAGS = "## Rules of the kube-apiserver reference"
STEP = 7  # every seventh sentence or flag is in the sample
FEWEST = 30
CELLS = re.compile(r"\| (\d+) \| (.+?) \| (.+?) \| `([^`|]+\.py)` \| `([^`|]+)` \|")
SKIPPED = re.compile(r"state no rule \([^)]*\): ([\d,\s]+)\.")


class Row(NamedTuple):
    """One rule of the page, and the code for it."""

    number: int
    file: str
    name: str


def rows_of(text: str) -> list[Row]:
    """The rows of the tables in a text, without their heads."""
    lines = [line for line in text.splitlines() if re.match(r"\| *\d", line)]
    found = [CELLS.fullmatch(line) for line in lines]
    assert None not in found, "a row without number, file or name"
    return [Row(int(each[1]), each[4], each[5]) for each in found if each]


TEXT = PAGE.read_text(encoding="utf-8")
OF_CONCEPTS, OF_FLAGS = map(rows_of, TEXT.split(FLAGS))


def defined(path: Path) -> set[str]:
    """The functions and classes of a module, and the methods of its classes as `Class.method`."""
    found = set[str]()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            methods = (each for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef))
            found |= {f"{node.name}.{each.name}" for each in methods}
    return found


@pytest.mark.parametrize("row", [*OF_CONCEPTS, *OF_FLAGS], ids=lambda row: f"{row.file}:{row.name}")
def test_the_code_of_each_rule_exists(row: Row) -> None:
    path = ROOT / row.file
    assert path.is_file()
    assert row.name in defined(path)


def test_the_page_has_at_least_thirty_rules() -> None:
    assert len(OF_CONCEPTS) + len(OF_FLAGS) >= FEWEST


@pytest.mark.parametrize("rows", [OF_CONCEPTS, OF_FLAGS], ids=["api-concepts", "flags"])
def test_the_numbers_are_multiples_of_seven_in_rising_order(rows: list[Row]) -> None:
    numbers = [row.number for row in rows]
    assert numbers == sorted(set(numbers))
    assert [number for number in numbers if number % STEP] == []


def test_every_seventh_sentence_up_to_the_last_row_is_listed_or_named_as_skipped() -> None:
    named = SKIPPED.search(TEXT)
    assert named is not None
    skipped = [int(number) for number in named[1].split(",")]
    listed = [row.number for row in OF_CONCEPTS]
    assert sorted(skipped + listed) == list(range(STEP, listed[-1] + 1, STEP))


def test_no_flag_of_the_sample_is_left_out() -> None:
    listed = [row.number for row in OF_FLAGS]
    assert listed == list(range(STEP, listed[-1] + 1, STEP))
