#!/usr/bin/env python3
"""Prints where the time of a run of the gate went: by part with its budget, by folder of tests, and the slowest tests.
Prints also which tests came nearest to a limit of theirs: those are the next to fail by chance.

    .ci/times.py PARTS TESTS LIMITS

A line of PARTS is `PART<tab>SECONDS<tab>BUDGET`; parts with the budget `once` are not counted. A line of TESTS is what
tests/times.py writes, and one of LIMITS what tests/limits.py writes.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.order import LONGEST, longest_first

SLOWEST = 20
LEAST = 5.0  # seconds of a folder that is told
LONG = 15.0  # seconds of a file
LATE = 0.7  # the share of all tests that has begun before a file begins late
MOST_LATE = 5
NEAREST = 20
NEAR = 0.3  # the share of its limit from which a test is listed


def parts(file: Path) -> list[str]:
    """The rows of the first table."""
    rows, whole = [], 0
    for line in _lines(file):
        part, seconds, budget = line.split("\t")
        whole += int(seconds) if budget != "once" and "beside" not in part else 0
        over = "  OVER" if budget.isdecimal() and int(seconds) > int(budget) else ""
        rows.append(f"{seconds:>8}{budget:>8}  {part}{over}")
    return ["seconds  budget  part", *rows, f"{whole:>8}{1200:>8}  all, without what is built once"] if rows else []


def folder(test: str) -> str:
    """The folder that a test is counted in: two below tests/, as tests/integration/quotas."""
    return "/".join(test.partition("::")[0].split("/")[:-1][:3])


def tests(file: Path) -> list[str]:
    """The rows of the other two."""
    by_test: Counter[str] = Counter()
    for line in _lines(file):
        name, seconds = json.loads(line)
        by_test[name] += seconds
    by_folder: Counter[str] = Counter()
    for name, seconds in by_test.items():
        by_folder[folder(name)] += seconds
    rows = [f"{seconds:8.0f}  {name}" for name, seconds in by_folder.most_common() if seconds >= LEAST]
    slowest = [f"{seconds:8.1f}  {name}" for name, seconds in by_test.most_common(SLOWEST)]
    late = [f"{seconds:8.0f}  {name}" for name, seconds in begun_late(by_test)]
    late = (
        ["", "seconds  long files that tests/order.py does not list: they begin late, and a core waits", *late]
        if late
        else []
    )
    return ["seconds  tests in", *rows, "", f"seconds  the {SLOWEST} slowest tests", *slowest, *late] if by_test else []


def begun_late(by_test: Mapping[str, float]) -> list[tuple[str, float]]:
    """Files that take as long as those of tests/order.py, and begin after files that take less."""
    by_file: dict[str, float] = {}
    for name, seconds in by_test.items():
        file = name.partition("::")[0]
        by_file[file] = by_file.get(file, 0.0) + seconds
    place = longest_first(list(by_test))
    order = sorted(by_file, key=lambda file: place(f"{file}::"))
    whole, begun = sum(by_file.values()), 0.0
    found = list[tuple[str, float]]()
    for file in order:
        begun += by_file[file]
        if file not in LONGEST and by_file[file] >= LONG and begun > whole * LATE:
            found.append((file, by_file[file]))
    return sorted(found, key=lambda each: -each[1])[:MOST_LATE]


def limits(file: Path) -> list[str]:
    """The rows of the last table: each test once, with the measure that was nearest to its limit."""
    nearest: dict[str, tuple[float, str]] = {}
    for line in _lines(file):
        name, share, words = json.loads(line)
        nearest[name] = max(nearest.get(name, (0.0, "")), (share, words))
    by_share = sorted(nearest.items(), key=lambda each: -each[1][0])[:NEAREST]
    rows = [f"{100 * share:6.0f} %  {name}: {words}" for name, (share, words) in by_share if share >= NEAR]
    return ["of limit  the tests that came nearest to their limits", *(rows or [f"none came near: below {NEAR:.0%}"])]


def _lines(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").splitlines() if file.exists() else []


def main() -> int:
    """The exit status."""
    print("\n== where the time went\n")
    tables = [parts(Path(sys.argv[1])), tests(Path(sys.argv[2])), limits(Path(sys.argv[3]))]
    print("\n\n".join("\n".join(table) for table in tables if table))
    return 0


if __name__ == "__main__":
    sys.exit(main())
