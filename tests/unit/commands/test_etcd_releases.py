"""etcd from a release, with a checked digest; and in a wheel."""

from __future__ import annotations

import csv
import hashlib
import importlib.util
import io
import sys
import tarfile
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

from gateway.commands.cli import main
from storage.embedded import BINARY_VARIABLE, find_binary
from storage.embedded.install import InstallError, archive_name, install

FAKE = b"#!/bin/sh\necho 'etcd Version: 9.8.7'\n"


@pytest.fixture
def releases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of releases as the real one is laid out, with one release; and an empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("platform.system", lambda: "Linux")
    release = tmp_path / "releases" / "v9.8.7"
    release.mkdir(parents=True)
    with tarfile.open(release / archive_name("9.8.7"), "w:gz") as archive:
        for name in ("etcd", "etcdctl", "README.md", "../../etcdutl"):
            entry = tarfile.TarInfo(f"etcd-v9.8.7-linux-amd64/{name}")
            entry.size = len(FAKE)
            archive.addfile(entry, io.BytesIO(FAKE))
    return tmp_path / "releases"


def digest(releases: Path) -> str:
    return hashlib.sha256((releases / "v9.8.7" / archive_name("9.8.7")).read_bytes()).hexdigest()


def test_a_release_is_installed_where_it_is_looked_for(releases: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (releases / "v9.8.7" / "SHA256SUMS").write_text(f"{'0' * 64}  other\n{digest(releases)}  {archive_name('9.8.7')}\n")
    installed = install("9.8.7", releases=releases.as_uri())
    assert sorted(path.name for path in installed.parent.iterdir()) == ["etcd", "etcdctl", "etcdutl"]
    monkeypatch.delenv(BINARY_VARIABLE, raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    assert find_binary() == installed
    assert install("9.8.7", releases="file:///nowhere") == installed


@pytest.mark.parametrize(
    ("sums", "sha256", "message"),
    [
        ("", "", "does not list"),
        (f"{'0' * 64}  NAME\n", "", f"not {'0' * 64}; nothing was installed"),
        ("", "f" * 64, f"not {'f' * 64}; nothing was installed"),
    ],
)
def test_a_wrong_digest_installs_nothing(releases: Path, sums: str, sha256: str, message: str) -> None:
    (releases / "v9.8.7" / "SHA256SUMS").write_text(sums.replace("NAME", archive_name("9.8.7")))
    with pytest.raises(InstallError, match=message):
        install("9.8.7", sha256, releases.as_uri())
    assert not (releases.parent / "cache").exists()


def test_a_given_digest_is_enough(releases: Path) -> None:
    assert install("9.8.7", digest(releases).upper(), releases.as_uri()).exists()


def test_what_cannot_be_had_is_said_in_a_line(releases: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for version in ("9.9.9", "latest"):
        assert main(["etcd", "install", f"--version={version}", f"--releases={releases.as_uri()}"]) == 1
    said = capsys.readouterr().err.splitlines()
    assert said[1].startswith("apiserver-gateway: cannot download ") and "is not a version of etcd" in said[2]


@pytest.fixture
def etcd_wheel(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("etcd_wheel", Path(__file__).parents[3] / "hack" / "etcd_wheel.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "etcd_wheel", module)
    spec.loader.exec_module(module)
    return module


def test_a_wheel_holds_what_its_record_says(etcd_wheel: ModuleType, tmp_path: Path) -> None:
    tags = etcd_wheel.TAGS["linux/amd64"]
    path = etcd_wheel.wheel(tmp_path, "9.8.7", tags, FAKE, b"the licence")
    with zipfile.ZipFile(path) as archive:
        names = set(archive.namelist())
        info = "apiserver_gateway_etcd-9.8.7.dist-info"
        recorded = {row[0] for row in csv.reader(archive.read(f"{info}/RECORD").decode().splitlines())}
        assert recorded == names
        assert archive.read(f"{info}/licenses/LICENSE") == b"the licence"
        assert archive.getinfo("apiserver_gateway_etcd/bin/etcd").external_attr >> 16 & 0o111
        assert archive.read(f"{info}/WHEEL").decode().count("Tag: py3-none-manylinux") == 2


def test_a_wheel_is_the_same_each_time(etcd_wheel: ModuleType, tmp_path: Path) -> None:
    made = [etcd_wheel.wheel(tmp_path / name, "9.8.7", "any", FAKE, b"").read_bytes() for name in ("one", "two")]
    assert made[0] == made[1]


def test_an_installed_wheel_is_found(etcd_wheel: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(etcd_wheel.wheel(tmp_path, "9.8.7", "any", FAKE, b"")) as archive:
        archive.extractall(tmp_path / "site")
    binary = tmp_path / "site" / "apiserver_gateway_etcd" / "bin" / "etcd"
    binary.chmod(0o755)
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.delenv(BINARY_VARIABLE, raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    assert find_binary() == binary
