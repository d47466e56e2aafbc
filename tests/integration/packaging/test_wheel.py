"""An installed wheel has no top-level module but `apiserver_gateway`, so that it hides no module of the user's
project.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from tests import plugins
from tests.scripts import loaded

ROOT = Path(__file__).parents[3]
build = loaded(ROOT / ".ci" / "release.py").build
SOURCES = ("apiserver_gateway", "gateway", "storage", "pyproject.toml", "setup.py", "README.md", "LICENSE")
MOMENT = "1700000000"  # seconds since the epoch, as the time of the commit

TEST = """
import os, subprocess, sys
import gateway, storage
from apiserver_gateway.testing import ask

def test_the_names_are_ours(kubernetes_api):
    assert gateway.OURS and storage.OURS
    assert ask(kubernetes_api, "GET", "/api/v1/namespaces/default")["metadata"]["name"] == "default"
    assert not {"fastapi", "grpc", "cryptography"} & set(sys.modules)

def test_so_are_they_for_the_command():
    program = os.path.join(os.path.dirname(sys.executable), "apiserver-gateway")
    command = [program, "up", "--", sys.executable, "-c", "import storage; print(storage.OURS)"]
    assert subprocess.run(command, capture_output=True, text=True, timeout=200).stdout == "True\\n"
"""


def copied(place: Path) -> Path:
    """A copy of the sources."""
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, place)
    return place


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The sdist and the wheel of this tree, built from a copy as for a release."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOURCE_DATE_EPOCH", MOMENT)
        return build(copied(tmp_path_factory.mktemp("source")), tmp_path_factory.mktemp("made"))


@pytest.fixture(scope="module")
def wheel(built: tuple[Path, Path]) -> Path:
    return built[1]


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a new environment with the wheel. Dependencies come from this environment."""
    place = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True, timeout=200)
    interpreter = place / "bin" / "python"
    site = next(place.glob("lib/python*/site-packages"))
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", interpreter]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    install = [*pip, "install", "-q", "--no-deps", "--ignore-installed", wheel]
    subprocess.run(install, check=True, timeout=250, env=environment)
    return interpreter


def test_a_wheel_has_one_top_level_package(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {name.split("/")[0] for name in names} == {
        "apiserver_gateway",
        next(name for name in names if name.endswith("METADATA")).split("/")[0],
    }
    assert "apiserver_gateway/_server/gateway/schema/catalog.json" in names
    modules = {str(path.relative_to(ROOT)) for top in ("gateway", "storage") for path in (ROOT / top).rglob("*.py")}
    server = "apiserver_gateway/_server/"
    assert not modules - {name.removeprefix(server) for name in names}


def test_who_builds_it_elsewhere_later_and_as_somebody_else_gets_the_same_bytes(
    built: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    for path in copied(tmp_path / "elsewhere").rglob("*"):
        path.chmod(0o700 if path.is_dir() else 0o600)
        os.utime(path, (1, 1))
    monkeypatch.setenv("SOURCE_DATE_EPOCH", MOMENT)
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    for first, second in zip(built, build(tmp_path / "elsewhere", tmp_path / "made"), strict=True):
        assert first.name == second.name and first.read_bytes() == second.read_bytes()


def test_a_project_keeps_its_own_packages(python: Path, tmp_path: Path) -> None:
    for name in ("gateway", "storage"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("OURS = True\n")
    (tmp_path / "yaml.py").write_text("raise SystemExit('the wrong module')\n")
    (tmp_path / "test_ours.py").write_text(TEST)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTEST_ADDOPTS": " ".join(plugins.OURS)}
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", tmp_path, tmp_path]
    outcome = subprocess.run(command, capture_output=True, text=True, timeout=250, cwd=tmp_path, env=environment)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr


def test_what_projects_import_is_light() -> None:
    code = (
        "import sys; import apiserver_gateway.testing, apiserver_gateway.testing.plugin\n"
        "print(sorted({'gateway', 'storage', 'fastapi', 'grpc', 'cryptography', 'yaml', 'orjson'} & set(sys.modules)))"
    )
    outcome = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert outcome.stdout == "[]\n"
