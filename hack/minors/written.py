"""What the generators of this folder have in common: --check, and a file with an entry a line."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parent.parent.parent / "gateway" / "release" / "data"


def lines_of(entries: dict[str, Any]) -> str:
    """The members of a JSON object, one a line, so that differences read well."""
    return ",\n".join(f"{json.dumps(name)}:{json.dumps(each, separators=(',', ':'))}" for name, each in entries.items())


def main(script: str, doc: str | None, target: Path, made: Callable[[], str]) -> int:
    """Writes what `made` gives to `target`, or with --check compares the two; the process's exit status comes out."""
    parser = argparse.ArgumentParser(description=(doc or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="compare with the committed file instead of writing it")
    options = parser.parse_args()
    return written(made(), target, options.check, f"the modules give; run {script} without --check")


def written(text: str, target: Path, check: bool, origin: str) -> int:
    """Writes a text to `target`, or with `check` compares the two; the process's exit status comes out.

    What is printed of a difference ends with `origin`: what gives the text, and which program writes it.
    """
    if not check:
        target.write_text(text)
    elif text != target.read_text():
        print(f"{target} is not what {origin}", file=sys.stderr)
        return 1
    return 0
