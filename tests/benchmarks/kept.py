"""What long benchmarks have found, kept for docs/performance/measurements.md: each runs by itself, not in `make bench`.

A program that has an option `--keep` gives its rows to `keep`, which replaces those of the same group and case in
results/measured.json; `python -m tests.benchmarks.page` then makes the page anew.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
MEASURED = RESULTS / "measured.json"


@dataclass(frozen=True, slots=True)
class Row:
    """One number. `beside` is the same number of `other`, such as kube-apiserver, measured in the same run."""

    group: str
    case: str
    ours: float
    unit: str
    other: str = ""
    beside: float | None = None
    at_most: float | None = None
    at_least: float | None = None
    limits_ratio: bool = False

    @property
    def ratio(self) -> float | None:
        """Our number divided by the other number."""
        return self.ours / self.beside if self.beside else None

    @property
    def holds(self) -> bool:
        """Whether the limit is kept: that of the ratio if there is one."""
        value = self.ratio if self.limits_ratio else self.ours
        if value is None:
            return True
        return (self.at_most is None or value <= self.at_most) and (self.at_least is None or value >= self.at_least)


def keep(rows: Iterable[Row], conditions: str = "", path: Path = MEASURED) -> None:
    """Writes rows into the file. `conditions` says in some words what was measured, and how busy the machine was."""
    kept = measured(path)
    when = {"date": f"{datetime.now(UTC):%Y-%m-%d}", "python": platform.python_version(), "cores": os.cpu_count()}
    for row in rows:
        kept[row.group, row.case] = asdict(row) | when | {"conditions": conditions}
    path.write_text(json.dumps(list(kept.values()), indent=1) + "\n", encoding="utf-8")


def measured(path: Path = MEASURED) -> dict[tuple[str, str], dict[str, Any]]:
    """The stored rows, by group and case, in the order of storing."""
    text = path.read_text(encoding="utf-8") if path.is_file() else "[]"
    return {(each["group"], each["case"]): each for each in json.loads(text)}


def row_of(kept: dict[str, Any]) -> Row:
    """A row as it was given to `keep`."""
    return Row(**{name: kept[name] for name in Row.__slots__})
