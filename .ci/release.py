"""Builds the files of a version, checks them and installs them: `.ci/release.py [--out DIR]`.

In DIR (dist/) are then the sdist, the wheel that is built from it, a bill of materials (CycloneDX), the licences of all
that an installation brings along, and SHA256SUMS. Who builds the same commit with the same tools gets the same bytes.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXTRAS = "embedded,descriptions,tracing"
ALLOWED = (
    "Apache", "BSD", "MIT", "ISC", "PSF", "Python Software Foundation", "MPL", "Mozilla Public License", "Unlicense",
)  # fmt: skip
"""What the licence of a dependency has to name one of: nothing that asks something of who only uses the server."""
_NAMED = (
    ("deploy/helm/apiserver-gateway/Chart.yaml", r"^appVersion: (\S+)$"),
    ("deploy/Dockerfile", r"^ARG VERSION=(\S+)$"),
    ("docker-compose.yml", r"GATEWAY_IMAGE:-apiserver-gateway:(\S+)}$"),
    ("docker-compose.yml", r"SNAPSHOTS_IMAGE:-apiserver-gateway-snapshots:(\S+)}$"),
    ("apiserver_gateway/testing/containers.py", r'^IMAGE = "apiserver-gateway:(\S+)"$'),
    ("CHANGELOG.md", r"^## (\d\S*) "),
)
_TRIAL = """
import json, os, ssl, urllib.request
url, context = os.environ["KUBERNETES_SERVER"] + "/version", ssl._create_unverified_context()
print("it serves", json.load(urllib.request.urlopen(url, context=context))["gitVersion"])
"""


def run(*words: str | Path, **environment: str) -> str:
    """What a command prints. Raises CalledProcessError, after its errors were shown."""
    known = {**os.environ, **environment}
    known.pop("PYTHONPATH", None)
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True, env=known, cwd=ROOT).stdout


def misnamed(version: str) -> list[str]:
    """The files that name another version than the tag that is released; none before a tag."""
    if not re.fullmatch(r"\d+(\.\d+)*((a|b|rc)\d+)?", version):
        return []
    found = [(name, re.search(pattern, (ROOT / name).read_text(), re.MULTILINE)) for name, pattern in _NAMED]
    return [f"{name} says {match and match[1]}" for name, match in found if not match or match[1] != version]


def moment() -> str:
    """When the commit was made, in seconds since the epoch; what is built says that it is of then."""
    return os.environ.get("SOURCE_DATE_EPOCH") or run("git", "log", "-1", "--format=%ct").strip()


def same_everywhere(archive: Path, seconds: int) -> None:
    """Rewrites a tar.gz so that it tells nothing of who packed it, when and with which umask; members are in order."""
    packed = io.BytesIO()
    with tarfile.open(archive) as old, tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as new:
        for member in sorted(old.getmembers(), key=lambda each: each.name):
            member.mtime, member.uid, member.gid, member.uname, member.gname = seconds, 0, 0, "", ""
            member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            member.pax_headers = {}
            new.addfile(member, old.extractfile(member) if member.isfile() else None)
    archive.write_bytes(gzip.compress(packed.getvalue(), mtime=seconds))


def build(tree: Path, out: Path) -> tuple[Path, Path]:
    """The sdist of a tree and the wheel of that sdist, in `out`."""
    seconds = moment()
    words = [sys.executable, "-m", "build", "--no-isolation", "--outdir", out]
    run(*words, "--sdist", tree, SOURCE_DATE_EPOCH=seconds)
    (sdist,) = out.glob("*.tar.gz")
    same_everywhere(sdist, int(seconds))
    with tempfile.TemporaryDirectory() as scratch:
        with tarfile.open(sdist) as archive:
            archive.extractall(scratch, filter="data")
        (unpacked,) = Path(scratch).iterdir()
        run(*words, "--wheel", unpacked, SOURCE_DATE_EPOCH=seconds)
    (wheel,) = out.glob("*.whl")
    return sdist, wheel


def install(wheel: Path, extras: str, place: Path) -> Path:
    """A new environment with the wheel and all that it and its extras want, without pip; its interpreter."""
    run(sys.executable, "-m", "venv", "--clear", "--without-pip", place)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", place / "bin" / "python"]
    run(*pip, "install", "--quiet", "--no-compile", "--only-binary=:all:", f"{wheel}[{extras}]")
    run(*pip, "check")
    return place / "bin" / "python"


def attempt(python: Path, version: str) -> None:
    """The installed program says its version, and serves. Raises SystemExit if it says another one."""
    program = python.with_name("apiserver-gateway")
    said = run(program, "version").strip()
    if not said.startswith(f"apiserver-gateway {version},"):
        raise SystemExit(f"the wheel says that it is {said!r}, not {version}")
    print(said, run(program, "up", "--", python, "-c", _TRIAL).strip(), sep="; ")


def licences(python: Path) -> str:
    """A table of the licences of what is installed. Raises CalledProcessError for one that is not of ALLOWED."""
    words = [sys.executable, "-m", "piplicenses", f"--python={python}", "--from=mixed", "--with-urls"]
    return run(*words, "--format=markdown", "--partial-match", f"--allow-only={';'.join(ALLOWED)}")


def sbom(python: Path, file: Path) -> None:
    """Writes what is installed, with its licences and who needs whom, as CycloneDX."""
    words = ["environment", python, "--pyproject=pyproject.toml", "--mc-type=application", "--output-reproducible"]
    run(sys.executable, "-m", "cyclonedx_py", *words, "--of=JSON", f"--output-file={file}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="where the files go; it is emptied")
    parser.add_argument("--tried", type=Path, default=ROOT / "build" / "tried", help="where they are installed")
    parser.add_argument("--extras", default=EXTRAS, help="what is installed with it, and so listed")
    options = parser.parse_args()
    shutil.rmtree(options.out, ignore_errors=True)
    options.out.mkdir(parents=True)
    sdist, wheel = build(ROOT, options.out)
    version = wheel.name.split("-")[1]
    if wrong := misnamed(version):
        raise SystemExit(f"this is {version}: " + ", ".join(wrong))
    run(sys.executable, "-m", "twine", "check", "--strict", sdist, wheel)
    python = install(wheel, options.extras, options.tried)
    attempt(python, version)
    (options.out / "LICENCES.md").write_text(licences(python), encoding="utf-8")
    sbom(python, options.out / f"apiserver_gateway-{version}.cdx.json")
    made = sorted(options.out.iterdir())
    sums = [f"{hashlib.sha256(each.read_bytes()).hexdigest()}  {each.name}\n" for each in made]
    (options.out / "SHA256SUMS").write_text("".join(sums))
    print("".join(sums), end="")


if __name__ == "__main__":
    main()
