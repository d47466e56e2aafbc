#!/usr/bin/env python3
"""Runs the unit tests on the other interpreters that are at hand: those on PATH and those of pyenv.

    .ci/interpreters.py [--quick] [PYTEST ARGUMENTS]

Each gets an environment with what tests need, kept in the cache directory for the next run. The oldest version is that
of pyproject.toml. They run side by side, and what each says is printed when it is done. With --quick it is a part of
the tests, with few examples of properties, for the gate: an example that fails does so on each interpreter.
Exit status 1 where tests fail.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NEWEST = 20  # minor versions are looked for up to this one
TRIED = ("3.11", "3.12", "3.13")  # where one of these is not at hand, that is said
OPTIONS = ("-m", "not long", "-p", "no:cacheprovider", "--no-header")
WHOLE = ("tests/unit",)
# what is near to the interpreter: event loops and threads, compiled source, types at run time, what others' packages do
QUICK = (
    *("audit", "encodings", "encryption", "flowcontrol", "forwarding", "http", "outbound", "proxies", "schema"),
    *("storage", "writing"),
)

# tools, and clients of servers: unit tests do without them, and installing them takes the most time
OTHERS = re.compile(
    r"(bandit|build|etcd3|kopf|kr8s|kubernetes_asyncio|lightkube|mypy|pip-audit|ruff|schemathesis"
    r"|setuptools-scm|testcontainers|types-.*)\b(?!-)"
)


def interpreters() -> dict[str, Path]:
    """What is at hand, "3.13" -> its path, but for the version that runs this."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    oldest = int(str(project["requires-python"]).rpartition(".")[2])
    found: dict[str, Path] = {}
    for minor in range(oldest, NEWEST):
        version = f"3.{minor}"
        if minor != sys.version_info.minor:
            works = next((path for path in _places(version) if _works(path)), None)
            if works is not None:
                found[version] = works
    return found


def _places(version: str) -> Iterator[Path]:
    kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    releases = (path for path in kept.glob(f"{version}.*") if re.fullmatch(r"[0-9.]+", path.name))
    for release in sorted(releases, key=lambda path: [int(part) for part in path.name.split(".")], reverse=True):
        yield release / "bin" / f"python{version}"
    if on_path := shutil.which(f"python{version}"):
        yield Path(on_path)


def _works(python: Path) -> bool:
    """Whether it is an interpreter that can make environments; pyenv puts names on PATH that lead to none."""
    asked = [python, "-c", "import ensurepip, ssl, venv"]
    return python.exists() and subprocess.run(asked, capture_output=True, check=False).returncode == 0


def wanted() -> list[str]:
    """What unit tests need, as pip takes it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [each for name in ("embedded", "descriptions", "tracing", "dev") for each in _extra(project, name)]
    listed = (*project["dependencies"], *extras)
    return [each for each in listed if not each.startswith(project["name"]) and not OTHERS.match(each)]


def _extra(project: dict[str, dict[str, list[str]]], name: str) -> list[str]:
    return project["optional-dependencies"][name]


def environment(version: str, python: Path) -> Path:
    """The interpreter of an environment that has it all; it is made where there is none of these requirements yet."""
    packages = wanted()
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "apiserver-gateway"
    state = hashlib.sha256("\n".join([str(python), *packages]).encode()).hexdigest()[:12]
    place = cache / f"python-{version}-{state}"
    if not (place / "complete").exists():
        shutil.rmtree(place, ignore_errors=True)
        subprocess.run([python, "-m", "venv", place], check=True)
        install = ["install", "--quiet", "--disable-pip-version-check", "--no-compile", *packages]
        subprocess.run([place / "bin" / "python", "-m", "pip", *install], check=True)
        (place / "complete").touch()
    return place / "bin" / "python"


def tested(version: str, python: Path, tests: list[str], examples: str) -> tuple[bool, str]:
    """Whether the tests pass on an interpreter, and what pytest says."""
    began = time.monotonic()
    command = [environment(version, python), "-m", "pytest", *OPTIONS, *tests]
    done = subprocess.run(
        command,
        check=False,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"HYPOTHESIS_PROFILE": examples},
    )
    return done.returncode == 0, f"{done.stdout}({time.monotonic() - began:.0f} s)\n"


def main() -> int:
    """The exit status."""
    arguments = sys.argv[1:]
    quick = "--quick" in arguments
    tests = [f"tests/unit/{each}" for each in QUICK] if quick else list(WHOLE)
    tests += [each for each in arguments if each != "--quick"]
    found = interpreters()
    for version in TRIED:
        if version not in found and version != f"3.{sys.version_info.minor}":
            print(f"SKIPPED: there is no Python {version} here that can make environments")
    with ThreadPoolExecutor(max(len(found), 1)) as side_by_side:
        examples = "few" if quick else os.environ.get("HYPOTHESIS_PROFILE", "gate")
        running = {
            version: side_by_side.submit(tested, version, python, tests, examples) for version, python in found.items()
        }
    status = 0
    for version, outcome in running.items():
        passed, said = outcome.result()
        print(f"unit tests on Python {version}: {found[version]}\n{said}", flush=True)
        status |= not passed
    return status


if __name__ == "__main__":
    sys.exit(main())
