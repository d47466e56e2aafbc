"""Makes wheels of etcd from its Go module: `make etcd-wheel`, or hack/etcd_wheel.py --target linux/arm64 …

The wheel apiserver-gateway-etcd has etcd's version and licence, and holds one static program, which `--embedded-etcd`
finds. Go checks the module against its checksum database. Needs Go, and no C compiler.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import os
import platform
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

VERSION = "3.7.3"
MODULE = "go.etcd.io/etcd/server/v3"
PACKAGE = "apiserver_gateway_etcd"

# a static program runs on any libc; Go 1.26 wants macOS 12 or later
TAGS = {
    "linux/amd64": "manylinux2014_x86_64.manylinux_2_17_x86_64.musllinux_1_1_x86_64",
    "linux/arm64": "manylinux2014_aarch64.manylinux_2_17_aarch64.musllinux_1_1_aarch64",
    "darwin/amd64": "macosx_12_0_x86_64",
    "darwin/arm64": "macosx_12_0_arm64",
}

METADATA = """\
Metadata-Version: 2.4
Name: apiserver-gateway-etcd
Version: {version}
Summary: The program etcd {version}, for apiserver-gateway --embedded-etcd
License-Expression: Apache-2.0
License-File: LICENSE
Project-URL: Source, https://github.com/etcd-io/etcd
Requires-Python: >=3.11
Description-Content-Type: text/plain

etcd {version}, built from its Go module {module} without changes. apiserver-gateway runs it with --embedded-etcd when
there is no etcd on PATH.
"""

WHEEL = """\
Wheel-Version: 1.0
Generator: apiserver-gateway hack/etcd_wheel.py
Root-Is-Purelib: false
{tags}
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", default=VERSION)
    parser.add_argument(
        "--target", action="append", choices=sorted(TAGS), help="default: this machine; may be repeated"
    )
    parser.add_argument("--out", type=Path, default=Path("dist"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        licence = fetch(Path(directory), options.version)
        for target in options.target or [this_machine()]:
            binary = build(Path(directory), target)
            print(wheel(options.out, options.version, TAGS[target], binary, licence))
    return 0


def this_machine() -> str:
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    return f"{platform.system().lower()}/{machine}"


def go(directory: Path, *arguments: str, **environment: str) -> str:
    """What go says; what goes wrong it says itself, and then this ends."""
    settings = {"GOFLAGS": "-mod=mod", "CGO_ENABLED": "0", "GOWORK": "off"}
    done = subprocess.run(
        ["go", *arguments],
        cwd=directory,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **settings, **environment},
    )
    if done.returncode:
        sys.exit(f"go {' '.join(arguments)} failed")
    return done.stdout


def fetch(directory: Path, version: str) -> bytes:
    """Gets the module; etcd's licence."""
    go(directory, "mod", "init", "wheel")
    go(directory, "get", f"{MODULE}@v{version}")
    place = json.loads(go(directory, "list", "-m", "-json", MODULE))["Dir"]
    return Path(place, "LICENSE").read_bytes()


def build(directory: Path, target: str) -> bytes:
    system, _, machine = target.partition("/")
    program = directory / f"etcd-{system}-{machine}"
    go(directory, "build", "-trimpath", "-ldflags=-s -w", "-o", str(program), MODULE, GOOS=system, GOARCH=machine)
    return program.read_bytes()


def wheel(out: Path, version: str, platforms: str, binary: bytes, licence: bytes) -> Path:
    """Writes the wheel: the same bytes for the same content."""
    info = f"{PACKAGE}-{version}.dist-info"
    tags = "\n".join(f"Tag: py3-none-{each}" for each in platforms.split("."))
    files: dict[str, tuple[bytes, int]] = {
        f"{PACKAGE}/__init__.py": (f'"""etcd {version}: bin/etcd beside this file."""\n'.encode(), 0o644),
        f"{PACKAGE}/bin/etcd": (binary, 0o755),
        f"{info}/licenses/LICENSE": (licence, 0o644),
        f"{info}/METADATA": (METADATA.format(version=version, module=MODULE).encode(), 0o644),
        f"{info}/WHEEL": (WHEEL.format(tags=tags).encode(), 0o644),
    }
    record = "".join(f"{name},sha256={_digest(content)},{len(content)}\n" for name, (content, _) in files.items())
    files[f"{info}/RECORD"] = (f"{record}{info}/RECORD,,\n".encode(), 0o644)
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{PACKAGE}-{version}-py3-none-{platforms}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, (content, mode) in files.items():
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    return path


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


if __name__ == "__main__":
    sys.exit(main())
