"""`apiserver-gateway etcd install`: puts a release of etcd into the cache, where --embedded-etcd looks for one.

The archive's SHA-256 must be that of --sha256, or without this flag that of the release's SHA256SUMS. The latter comes
from the same server, so it detects damage, but not a manipulated release.
"""

from __future__ import annotations

import hashlib
import io
import platform
import re
import shutil
import tarfile
import tempfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

from storage.embedded.binary import binary_version, cache_directory
from storage.versions import parse_version

VERSION = "3.7.3"
RELEASES = "https://github.com/etcd-io/etcd/releases/download"
WANTED = ("etcd", "etcdctl", "etcdutl")
TIMEOUT = 30.0  # seconds without a byte
LARGEST = 200 * 1024 * 1024

_MACHINES = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64", "ppc64le": "ppc64le"}


class InstallError(Exception):
    """The release can't be installed; the message says why, in one line."""


def archive_name(version: str) -> str:
    """The name of a version's archive for this machine. Raises InstallError if etcd has none."""
    machine, system = _MACHINES.get(platform.machine().lower()), platform.system().lower()
    if machine is None or system not in ("linux", "darwin"):
        raise InstallError(f"etcd has no release for {platform.system()} on {platform.machine()}")
    return f"etcd-v{version}-{system}-{machine}.{'zip' if system == 'darwin' else 'tar.gz'}"


def install(
    version: str = VERSION,
    sha256: str = "",
    releases: str = RELEASES,
    say: Callable[[str], None] = lambda line: None,
) -> Path:
    """Downloads a version, checks it and puts it into the cache. Returns the path of `etcd`. Raises InstallError.

    A version that is already installed is not downloaded again.
    """
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise InstallError(f"{version} is not a version of etcd, such as {VERSION}")
    if sha256 and not re.fullmatch("[0-9a-fA-F]{64}", sha256):
        raise InstallError(f"{sha256} is not a SHA-256: give 64 hexadecimal digits")
    place = cache_directory() / f"etcd-{version}"
    if binary_version(place / "etcd") == parse_version(version):
        return place / "etcd"
    name = archive_name(version)
    base = f"{releases.rstrip('/')}/v{version}"
    expected = sha256.lower() or _listed(_download(f"{base}/SHA256SUMS", say), name)
    archive = _download(f"{base}/{name}", say)
    found = hashlib.sha256(archive).hexdigest()
    if found != expected:
        raise InstallError(f"{base}/{name} has the digest {found}, not {expected}; nothing was installed")
    try:
        _unpack(archive, name, place)
    except OSError as error:
        raise InstallError(f"cannot write {place}: {error.strerror or error}") from None
    binary_version.cache_clear()
    if binary_version(place / "etcd") != parse_version(version):
        raise InstallError(f"{place / 'etcd'} does not run here, or is not {version}")
    return place / "etcd"


def _listed(sums: bytes, name: str) -> str:
    for line in sums.decode(errors="replace").splitlines():
        digest, _, listed = line.partition(" ")
        if listed.strip().lstrip("*") == name and re.fullmatch(r"[0-9a-f]{64}", digest):
            return digest
    raise InstallError(f"the release's SHA256SUMS does not list {name}; give its digest with --sha256")


def _download(url: str, say: Callable[[str], None]) -> bytes:
    say(f"downloading {url}")
    content = bytearray()
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT) as answer:
            while part := answer.read(1 << 20):
                content += part
                if len(content) > LARGEST:
                    raise InstallError(f"{url} is larger than any release of etcd")
    except (OSError, ValueError) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        raise InstallError(f"cannot download {url}: {reason}") from None
    return bytes(content)


def _unpack(archive: bytes, name: str, place: Path) -> None:
    """Unpacks only the programs, into a directory that appears when it is complete."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent) as directory:
        complete = Path(directory, "complete")
        complete.mkdir()
        for path, content in _members(archive, name):
            *_, file = path.split("/")
            if file in WANTED:
                (complete / file).write_bytes(content)
                (complete / file).chmod(0o755)
        if not (complete / "etcd").exists():
            raise InstallError(f"{name} has no etcd in it")
        if place.exists():
            shutil.rmtree(place)
        complete.rename(place)


def _members(archive: bytes, name: str) -> Iterator[tuple[str, bytes]]:
    try:
        if name.endswith(".zip"):
            with zipfile.ZipFile(io.BytesIO(archive)) as zipped:
                yield from ((path, zipped.read(path)) for path in zipped.namelist())
            return
        with tarfile.open(fileobj=io.BytesIO(archive)) as tarred:
            for member in tarred:
                if member.isfile() and (file := tarred.extractfile(member)) is not None:
                    yield member.name, file.read()
    except (tarfile.TarError, zipfile.BadZipFile, EOFError) as error:
        raise InstallError(f"{name} is not an archive: {error}") from None
