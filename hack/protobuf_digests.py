#!/usr/bin/env python3
"""Generates tests/unit/encodings/protobuf_digests*.json: what Go makes of the sample objects of every kind in protobuf.

The samples (tests/samples.py) are piped through hack/gotypes/marshal, which needs Go and the module proxy. Run it anew
after a catalog has changed:

    hack/protobuf_digests.py                       # writes the file of each minor with a catalog
    hack/protobuf_digests.py --minor 1.37 --show v1/Pod full    # prints the bytes of one object, and its JSON

hack/gotypes/go.mod has the modules of the minor of catalog.json; another minor has those of its release.

Layout: {"v1/Pod": {"full": SHA-256 of the bytes, the first 16 hexadecimal digits}}.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
from base64 import b64decode
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from gateway.jsontypes import dump_line, loads  # noqa: E402
from gateway.release.minors import CATALOGS, CATALOGUED, GIT_VERSIONS  # noqa: E402
from gateway.schema.catalog import serving  # noqa: E402
from tests.samples import kinds, samples  # noqa: E402

FOLDER = ROOT / "tests" / "unit" / "encodings"
GOTYPES = ROOT / "hack" / "gotypes"
MODULES = ("api", "apiextensions-apiserver", "apimachinery", "client-go", "kube-aggregator")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minor", choices=(CATALOGUED, *CATALOGS), help="without it, all that have a catalog")
    parser.add_argument("--show", nargs=2, metavar=("KIND", "SAMPLE"), default=())
    options = parser.parse_args()
    for minor in [options.minor] if options.minor else (CATALOGUED, *CATALOGS):
        with serving(minor):
            digests = digests_of(minor, options.show)
        if not options.show:
            rows = ",\n".join(f"{json.dumps(kind)}: {json.dumps(digests[kind])}" for kind in sorted(digests))
            own = "" if minor == CATALOGUED else f"-{minor}"
            (FOLDER / f"protobuf_digests{own}.json").write_text("{\n" + rows + "\n}\n")
    return 0


def digests_of(minor: str, shown: Sequence[str]) -> dict[str, dict[str, str]]:
    """The digests of all samples of the served minor; with `shown`, of that one sample, whose bytes are printed."""
    named = [("/".join(gvk).lstrip("/"), name, obj) for gvk in kinds() for name, obj in samples(*gvk)]
    if shown:
        named = [each for each in named if [each[0], each[1]] == shown]
    digests: dict[str, dict[str, str]] = {}
    lines = marshalled(minor, b"".join(dump_line(obj) for _, _, obj in named))
    for (kind, name, obj), line in zip(named, lines, strict=True):
        encoded, _, back = line.partition(b" ")
        if loads(back) != obj:
            print(f"{kind} {name}: Go writes other JSON: {back.decode()}", file=sys.stderr)
        data = b64decode(encoded)
        if shown:
            print(data.hex(), back.decode())
        digests.setdefault(kind, {})[name] = hashlib.sha256(data).hexdigest()[:16]
    return digests


def marshalled(minor: str, lines: bytes) -> list[bytes]:
    """What hack/gotypes/marshal makes of objects, by the modules of a minor. Raises CalledProcessError."""
    with tempfile.TemporaryDirectory() as name:
        for file in ("go.mod", "go.sum"):
            shutil.copy(GOTYPES / file, name)
        if minor != CATALOGUED:
            release = GIT_VERSIONS[minor].removeprefix("v1.")
            requires = [f"-require=k8s.io/{module}@v0.{release}" for module in MODULES]
            subprocess.run(["go", "mod", "edit", *requires], cwd=name, check=True)
        command = ["go", "run", "-mod=mod", f"-modfile={name}/go.mod", "./marshal"]
        return subprocess.run(command, cwd=GOTYPES, input=lines, stdout=subprocess.PIPE, check=True).stdout.splitlines()


if __name__ == "__main__":
    sys.exit(main())
