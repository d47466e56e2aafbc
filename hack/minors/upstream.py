#!/usr/bin/env python3
"""Writes a worksheet of a release of Kubernetes: what it changed since the newest one that is served.

    hack/minors/upstream.py 1.38.0-beta.0           # or: make upstream VERSION=1.38.0-beta.0
    hack/minors/upstream.py VERSION --into DIR      # by default build/upstream/VERSION

It downloads the published modules, runs each generator of this folder with the release added, and writes to DIR:
gates.json, lifecycle.json, roles.json and gotypes.json as the generators make them, and worksheet.md. No file of the
source tree is changed. A generator that compiles the modules may need a newer Go; the worksheet then says so.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import gates
import gotypes
import lifecycle
import roles
from worksheet import worksheet

ROOT = Path(__file__).resolve().parent.parent.parent


def made(version: str, folder: Path) -> list[str]:
    """Runs the generators with a release more, and writes what they make. Returns a line about each."""
    said = []
    for module in (gates, lifecycle, roles):
        module.RELEASES = (*gates.BY_HAND, version)  # type: ignore[attr-defined]
        name = module.TARGET.name
        (folder / name).write_text(module.text_of(module.build()))
        said.append(f"`{name}` is made.")
    try:
        (folder / "gotypes.json").write_text(gotypes.build(version))
        said.append("`gotypes.json` is made.")
    except subprocess.CalledProcessError as error:
        said.append(f"`gotypes.json` is not made: `{' '.join(error.cmd)}` failed, see its message. Is Go new enough?")
    return said


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("version", help="such as 1.38.0-beta.0")
    parser.add_argument("--into", type=Path, help="the folder to write to")
    options = parser.parse_args()
    folder = options.into or ROOT / "build" / "upstream" / options.version
    folder.mkdir(parents=True, exist_ok=True)
    said = made(options.version, folder)
    (folder / "worksheet.md").write_text(worksheet(gates.BY_HAND[-1], options.version, said))
    print(folder / "worksheet.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
