#!/usr/bin/env python3
"""Generates tests/unit/encodings/protobuf_digests.json: what Go makes of the sample objects of every kind in protobuf.

The samples (tests/samples.py) are piped through hack/gotypes/marshal, which needs Go and the module proxy. Run it anew
after the catalog has changed:

    hack/protobuf_digests.py             # writes the file
    hack/protobuf_digests.py --show v1/Pod full    # prints the bytes of one object, in hexadecimal, and its JSON

Layout: {"v1/Pod": {"full": SHA-256 of the bytes, the first 16 hexadecimal digits}}.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
from base64 import b64decode
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from gateway.jsontypes import dump_line, loads  # noqa: E402
from tests.samples import kinds, samples  # noqa: E402

TARGET = ROOT / "tests" / "unit" / "encodings" / "protobuf_digests.json"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--show", nargs=2, metavar=("KIND", "SAMPLE"))
    options = parser.parse_args()
    named = [("/".join(gvk).lstrip("/"), name, obj) for gvk in kinds() for name, obj in samples(*gvk)]
    if options.show:
        named = [each for each in named if [each[0], each[1]] == options.show]
    lines = b"".join(dump_line(obj) for _, _, obj in named)
    command = ["go", "run", "./marshal"]
    made = subprocess.run(command, cwd=ROOT / "hack" / "gotypes", input=lines, capture_output=True, check=False)
    if made.returncode:
        print(made.stderr.decode(), file=sys.stderr)
        return 1
    digests: dict[str, dict[str, str]] = {}
    for (kind, name, obj), line in zip(named, made.stdout.splitlines(), strict=True):
        encoded, _, back = line.partition(b" ")
        if loads(back) != obj:
            print(f"{kind} {name}: Go writes other JSON: {back.decode()}", file=sys.stderr)
        data = b64decode(encoded)
        if options.show:
            print(data.hex(), back.decode())
        digests.setdefault(kind, {})[name] = hashlib.sha256(data).hexdigest()[:16]
    if not options.show:
        rows = ",\n".join(f"{json.dumps(kind)}: {json.dumps(digests[kind])}" for kind in sorted(digests))
        TARGET.write_text("{\n" + rows + "\n}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
