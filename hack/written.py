"""The parts that generators share: they write a file, or with --check say that it is out of date."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parents[1] / "gateway" / "release" / "data"


def lines_of(entries: dict[str, Any]) -> str:
    """The members of a JSON object, one a line, so that differences read well."""
    return ",\n".join(f"{json.dumps(name)}:{json.dumps(each, separators=(',', ':'))}" for name, each in entries.items())


def write_or_check(target: Path, make: Callable[[], str], description: str | None) -> int:
    """Writes the text that `make` makes, or with --check compares it with the file; returns the exit status."""
    parser = argparse.ArgumentParser(description=(description or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if the file is out of date")
    return written(make(), target, parser.parse_args().check)


def written(text: str, target: Path, check: bool) -> int:
    """Writes a text, or with `check` compares it with the file; returns the exit status."""
    if target.is_file() and target.read_text(encoding="utf-8") == text:
        return 0
    if check:
        print(f"{target} is not up to date: run {sys.argv[0]}", file=sys.stderr)
        return 1
    target.write_text(text, encoding="utf-8")
    return 0
