"""Kubernetes' own programs: found, or built with Go from its published modules."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

VERSION = "1.37.2"
_GO_MOD = """\
module apiserver-gateway/tests/upstream/programs

go 1.26

require k8s.io/kubernetes v{version}
"""
_MAIN = "//go:build tools\n\npackage programs\n\nimport (\n{imports})\n"
_NAMES = ("kube-controller-manager", "kube-scheduler")


def program(name: str, directory: Path | None) -> Path:
    """The path of a program: in `directory`, on PATH if it is of the version, in the cache, or built into it.

    Raises RuntimeError where it is to be built and Go is not at hand.
    """
    if directory is not None and (directory / name).exists():
        return directory / name
    if (on_path := shutil.which(name)) and f"v{VERSION}" in _version(on_path):
        return Path(on_path)
    kept = Path(os.environ.get("APISERVER_GATEWAY_CACHE") or Path.home() / ".cache" / "apiserver-gateway")
    built = kept / f"kubernetes-{VERSION}"
    if not (built / name).exists():
        _build(built)
    return built / name


def _version(path: str) -> str:
    return subprocess.run([path, "--version"], capture_output=True, text=True, timeout=30).stdout


def _build(directory: Path) -> None:
    """Takes some minutes, and a few hundred megabytes of modules."""
    if not shutil.which("go"):
        raise RuntimeError(f"{' and '.join(_NAMES)} are not on PATH, and there is no Go to build them with")
    print(f"building {', '.join(_NAMES)} {VERSION} into {directory} ...", flush=True)
    sources = directory / "sources"
    sources.mkdir(parents=True, exist_ok=True)
    (sources / "go.mod").write_text(_GO_MOD.format(version=VERSION) + _replacements(sources))
    imports = "".join(f'\t_ "k8s.io/kubernetes/cmd/{name}"\n' for name in _NAMES)
    (sources / "programs.go").write_text(_MAIN.format(imports=imports))
    _go(sources, "mod", "tidy")
    major, minor, _ = VERSION.split(".")
    stamp = "k8s.io/component-base/version"
    flags = f"-X {stamp}.gitVersion=v{VERSION} -X {stamp}.gitMajor={major} -X {stamp}.gitMinor={minor}"
    for name in _NAMES:
        unfinished = directory / f"{name}.{os.getpid()}"
        _go(sources, "build", "-ldflags", flags, "-o", str(unfinished), f"k8s.io/kubernetes/cmd/{name}")
        unfinished.replace(directory / name)


def _replacements(sources: Path) -> str:
    """Where Kubernetes' module takes others from its own tree: from their published versions instead."""
    found = json.loads(_go(sources, "mod", "download", "-json", f"k8s.io/kubernetes@v{VERSION}"))
    text = Path(found["GoMod"]).read_text()
    modules = sorted(set(re.findall(r"^\s*(k8s\.io/[\w-]+) (?:v0\.0\.0|=> \./staging)", text, re.M)))
    published = "v0" + VERSION.removeprefix("1")
    return "".join(f"replace {module} => {module} {published}\n" for module in modules)


def _go(sources: Path, *arguments: str) -> str:
    environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-mod=mod"}
    done = subprocess.run(["go", *arguments], cwd=sources, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"go {' '.join(arguments)}: {done.stderr}")
    return done.stdout
