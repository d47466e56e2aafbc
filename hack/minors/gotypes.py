#!/usr/bin/env python3
"""Generates hack/gotypes-MINOR.json: facts of the Go types of a minor that has a catalog of its own.

    hack/minors/gotypes.py              # downloads the published modules, and runs hack/gotypes with them
    hack/minors/gotypes.py --check      # exit 1 unless the committed files are what would be written

The program hack/gotypes/main.go is copied to a temporary folder, with a go.mod that requires the modules of the minor,
and the Go that they need. With GOTOOLCHAIN=auto, an older Go downloads that one.
The first run compiles client-go, which takes more than a minute.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from gates import RELEASES, minor_of, module_folder

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from hack.written import written

HACK = Path(__file__).resolve().parent.parent
OWN = ("1.37",)
"""The minors with a catalog of their own; gateway/release/minors.py has them too."""
MODULES = ("api", "apiextensions-apiserver", "apimachinery", "client-go", "kube-aggregator")


def build(release: str) -> str:
    """The facts of the types of a release, as JSON. Raises CalledProcessError."""
    requires = [f"-require=k8s.io/{module}@v0.{release.partition('.')[2]}" for module in MODULES]
    module = module_folder("api", release) / "go.mod"
    go = next(line for line in module.read_text().splitlines() if line.startswith("go "))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copy(HACK / "gotypes" / "main.go", folder)
        (folder / "go.mod").write_text(f"module gotypes\n\n{go}\n")
        subprocess.run(["go", "mod", "edit", *requires], cwd=folder, check=True)
        command = ["go", "run", "-mod=mod", "."]
        return subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, check=True).stdout


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="compare with the committed files instead of writing them")
    check = parser.parse_args().check
    status = 0
    for release in RELEASES:
        if (minor := minor_of(release)) in OWN:
            status |= written(build(release), HACK / f"gotypes-{minor}.json", check)
    return status


if __name__ == "__main__":
    sys.exit(main())
