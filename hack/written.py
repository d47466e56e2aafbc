"""What scripts that write a page of docs/ have in common: they write it, or say that it is out of date."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path


def write_or_check(page: Path, make: Callable[[], str], description: str | None) -> int:
    """Writes the page, or with --check says whether it is what `make` makes; returns the exit status."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if the page is out of date")
    check = parser.parse_args().check
    text = make()
    if page.is_file() and page.read_text(encoding="utf-8") == text:
        return 0
    if check:
        print(f"{page} is not up to date: run {sys.argv[0]}", file=sys.stderr)
        return 1
    page.write_text(text, encoding="utf-8")
    return 0
