#!/usr/bin/env python3
"""Generates gateway/release/data/gates.json: the feature gates of kube-apiserver in each minor that is served.

    hack/minors/gates.py            # downloads the published modules of RELEASES, and reads their source
    hack/minors/gates.py --check    # exit 1 unless the committed file is what would be written

Layout of the result, a gate a line:

    {"minors": ["1.34", ...],
     "gates": {NAME: {"served": true where kube-apiserver's own code asks it, "needs": [NAME, ...],
                      "1.36": [STAGE, DEFAULT, LOCKED],
                      "1.34 by 1.36": the same as the source of 1.36 declares it for 1.34, where 1.34 has another,
     "1.37 with 1.37": the same where --min-compatibility-version=1.37 changes it, whose default is the minor before}}}

STAGE is as `kubernetes_feature_enabled` has it. A minor in which a gate is not known has `true` or `false` instead of
the three: whether the feature is there all the same, since a gate goes when nobody may switch it any more.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from hack.written import DATA, lines_of, write_or_check

TARGET = DATA / "gates.json"
BY_HAND = ("1.34.4", "1.35.4", "1.36.3", "1.37.2")
RELEASES: tuple[str, ...] = BY_HAND
"""The releases that the data is made of; hack/minors/upstream.py adds one."""
# modules whose code kube-apiserver runs, and the folders of k8s.io/kubernetes that are other components'
MODULES = ("apiserver", "apiextensions-apiserver", "kube-aggregator", "pod-security-admission", "component-helpers")
ELSEWHERE = (
    *("pkg/kubelet/", "pkg/scheduler/", "pkg/controller/", "pkg/proxy/", "pkg/volume/", "pkg/credentialprovider/"),
    *("pkg/features/", "pkg/kubemark/", "test/", "cmd/"),
)
EMULATED = 3  # how many minors before its own a server can emulate, and be compatible with
ASKED = re.compile(r"\b\w*[fF]eatures\.([A-Z]\w+)|\"([A-Z]\w+)\"")

DECLARED = (  # where gates stand in source, by module
    ("kubernetes", "pkg/features/kube_features.go"),
    ("apiserver", "pkg/features/kube_features.go"),
    ("apiextensions-apiserver", "pkg/features/kube_features.go"),
    ("component-base", "logs/api/v1/kube_features.go"),
    ("component-base", "zpages/features/kube_features.go"),
    ("component-base", "metrics/features/kube_features.go"),
    ("controller-manager", "pkg/features/kube_features.go"),  # it has none before 1.36
    ("client-go", "features/known_features.go"),
)
CONSTANT = re.compile(r'^\t(\w+)\s+(?:featuregate\.)?Feature\s*= "(\w+)"', re.M)
ENTRY = re.compile(r"^\t+(?:\w+\.)?(\w+): \{\n((?:\t+(?://.*|\{.*\},?.*)?\n)+?)\t+\},$", re.M)
SPEC = re.compile(r"^\s*\{(.*?)\},?\s*(?://.*)?$", re.M)
VERSION = re.compile(r'\bVersion: version\.MustParse\("([\d.]+)"\)')
COMPATIBLE = re.compile(r'MinCompatibilityVersion: version\.MustParse\("([\d.]+)"\)')
STAGES = {"Alpha": "ALPHA", "Beta": "BETA", "GA": "", "Deprecated": "DEPRECATED", "PreAlpha": "PRE-ALPHA"}
NEEDS = re.compile(r"^\t(?:\w+\.)?(\w+):\s+\{([^{}]+)\},(?:\s*//.*)?$", re.M)

Json = dict[str, Any]


def declared(release: str) -> Json:
    """The gates of a release: name -> "specs", each with version, stage, default and whether it is locked; "needs"."""
    found: Json = {}
    needed: list[tuple[str, str]] = []
    for module, path in DECLARED:
        file = module_folder(module, release) / path
        text = file.read_text() if file.is_file() or module != "controller-manager" else ""
        constants = dict(CONSTANT.findall(text))
        for name, body in ENTRY.findall(text):
            specs = [spec_of(each) for each in SPEC.findall(body) if "Version:" in each]
            found[constants.get(name, name)] = {"specs": sorted(specs, key=lambda spec: number(spec[0]))}
        needed += NEEDS.findall(text.partition("FeatureGateDependencies = ")[2].partition("\n}\n")[0])
    for name, needs in needed:
        found[name]["needs"] = sorted(re.findall(r"(\w+)\)?\s*(?:,|$)", re.sub(r"//.*", "", needs)))
    return found


def spec_of(text: str) -> list[Any]:
    """A spec out of the inside of its braces: version, stage, default, lock, and the least minCompatibilityVersion."""
    version, stage = VERSION.search(text), re.search(r"PreRelease:\s*(?:\w+\.)?(\w+)", text)
    if version is None or stage is None:
        raise ValueError(f"cannot read the spec {text}")
    on, locked = (re.search(rf"\b{name}:\s*true", text) is not None for name in ("Default", "LockToDefault"))
    compatible = COMPATIBLE.search(text)
    return [version[1], STAGES[stage[1]], on, locked, compatible[1] if compatible else ""]


def module_folder(name: str, release: str) -> Path:
    """Where a published module of Kubernetes is in Go's module cache."""
    cache = subprocess.run(["go", "env", "GOMODCACHE"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    version = f"v{release}" if name == "kubernetes" else f"v0.{release.partition('.')[2]}"
    folder = Path(cache) / "k8s.io" / f"{name}@{version}"
    if not folder.is_dir():
        # a module of a newer Go is downloaded too, although the command then fails
        done = subprocess.run(["go", "mod", "download", f"k8s.io/{name}@{version}"], check=False)
        if not folder.is_dir():
            raise subprocess.CalledProcessError(done.returncode, done.args)
    return folder


def asked(release: str) -> set[str]:
    """The names that kube-apiserver's own code may ask for."""
    found: set[str] = set()
    for name in ("kubernetes", *MODULES):
        folder = module_folder(name, release)
        for path in folder.rglob("*.go"):
            inside = path.relative_to(folder).as_posix()
            if inside.endswith("_test.go") or inside.startswith(ELSEWHERE) or "pkg/features/" in inside:
                continue
            for names in ASKED.findall(path.read_text(errors="replace")):
                found.update(filter(None, names))
    return found


def state_at(specs: list[list[Any]], minor: str, compatible: tuple[int, ...] = ()) -> list[Any] | None:
    """The stage and the default of a gate as of a minor; None where it comes later.

    `compatible` is the minCompatibilityVersion; without it, the minor before.
    """
    major, last = number(minor)
    at, needed = None, (0, 0)
    for version, stage, default, locked, least in specs:
        needed = max(needed, number(least)) if least else needed  # what a spec needs, those after it need too
        if number(version) <= (major, last) and needed <= (compatible or (major, last - 1)):
            at = [stage, default, locked]
    return at


def others(specs: list[list[Any]], minor: str, usual: list[Any]) -> Iterator[tuple[str, list[Any]]]:
    """The states of a gate with another minCompatibilityVersion than the default, where they differ from `usual`."""
    major, last = number(minor)
    for least in range(last - EMULATED, last + 1):
        at = state_at(specs, minor, (major, least))
        if at is not None and at != usual:
            yield f"{major}.{least}", at


def minor_of(release: str) -> str:
    """The minor of a release: "1.38" for "1.38.0-beta.0"."""
    return ".".join(release.split(".")[:2])


def number(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")[:2]))


def build() -> Json:
    """The result as a JSON value."""
    minors = [minor_of(release) for release in RELEASES]
    by_minor = {minor: declared(release) for minor, release in zip(minors, RELEASES, strict=True)}
    served: set[str] = set().union(*map(asked, RELEASES))
    gates: Json = {}
    for name in sorted({name for gates in by_minor.values() for name in gates} - {"AllAlpha", "AllBeta"}):
        entry = gates[name] = {"served": True} if name in served else {}
        last: list[Any] | None = None
        for minor in minors:
            known = by_minor[minor].get(name)
            at = state_at(known["specs"], minor) if known else None
            if known and known.get("needs"):
                entry["needs"] = known["needs"]
            entry[minor] = at if at is not None else bool(last and last[1])
            last = at or last
            if at is not None:
                entry |= {f"{minor} with {least}": other for least, other in others(known["specs"], minor, at)}
        for binary, minor in combinations(reversed(minors), 2):
            at = state_at(by_minor[binary].get(name, {"specs": []})["specs"], minor)
            if at is not None and at != entry[minor]:
                entry[f"{minor} by {binary}"] = at
    return {"minors": minors, "gates": gates}


def text_of(content: Json) -> str:
    return f'{{"minors":{json.dumps(content["minors"])},\n"gates":{{\n{lines_of(content["gates"])}\n}}}}\n'


if __name__ == "__main__":
    sys.exit(write_or_check(TARGET, lambda: text_of(build()), __doc__))
