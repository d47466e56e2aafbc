#!/usr/bin/env python3
"""Runs the few tests once more that have failed, alone: a busy machine fails one of thousands by chance.

    hack/again.py CACHE

CACHE is what a run with `-o cache_dir=CACHE` has left. The tests are named, so that somebody looks for the chance. The
exit status is pytest's; 1 where nothing says what failed, or more did than chance explains.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

MOST = 3


def failed_of(cache: Path) -> list[str]:
    """The tests that failed in the run which left `cache`, by their names in pytest."""
    file = cache / "v" / "cache" / "lastfailed"
    return sorted(json.loads(file.read_text(encoding="utf-8"))) if file.exists() else []


def main() -> int:
    """The exit status."""
    failed = failed_of(Path(sys.argv[1]))
    if not 0 < len(failed) <= MOST:
        print(f"{len(failed) or 'unknown'} tests have failed: none of them is run once more")
        return 1
    print("FAILED, and run once more, alone:", *failed, sep="\n    ", flush=True)
    return subprocess.run([sys.executable, "-m", "pytest", *failed]).returncode


if __name__ == "__main__":
    sys.exit(main())
