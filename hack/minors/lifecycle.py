#!/usr/bin/env python3
"""Generates gateway/release/data/lifecycle.json: which versions of kinds kube-apiserver has in each minor.

    hack/minors/lifecycle.py            # downloads the published modules of RELEASES, and reads their source
    hack/minors/lifecycle.py --check    # exit 1 unless the committed file is what would be written

Layout of the result, a version of a kind a line:

    {"minors": ["1.34", ...],
     "versions": {"GROUP/VERSION/KIND": {"1.36": whether it is served by default, "introduced": MINOR,
                                         "deprecated": MINOR, "removed": MINOR}}}

A minor that a line does not name has no such version. Kinds are those that register.go of the version registers;
whether a version is served by default is in pkg/controlplane of k8s.io/kubernetes; introduced, deprecated and removed
are the markers of prerelease-lifecycle-gen.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from gates import RELEASES, minor_of, module_folder

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from hack.written import DATA, lines_of, write_or_check

TARGET = DATA / "lifecycle.json"
ON_BY_DEFAULT = re.compile(r"\n\t*(\w*[sS]table\w*EnabledByDefault) = \[\]schema\.GroupVersion\{(.*?)\n\t\}", re.S)
IMPORT = re.compile(r'^\t(\w+)\s+"k8s\.io/(?:api|kubernetes/pkg/apis)/([\w/]+)"$', re.M)
GROUP = re.compile(r'GroupName\s*=\s*"([^"]*)"')
KIND = re.compile(r"^\t\t&(\w+)\{\},$", re.M)
MARKER = re.compile(r"func \(in \*(\w+)\) APILifecycle(Introduced|Deprecated|Removed)\(\).*?\n\treturn (\d+), (\d+)\n")

Json = dict[str, Any]


def on_by_default(release: str) -> set[str]:
    """The folders of k8s.io/api whose versions a release serves without being asked."""
    found: set[str] = set()
    for path in (module_folder("kubernetes", release) / "pkg" / "controlplane").rglob("*.go"):
        text = path.read_text()
        aliases = dict(IMPORT.findall(text))
        for _, listed in ON_BY_DEFAULT.findall(text):
            found.update(
                aliases[alias] for alias in re.findall(r"(\w+)\.SchemeGroupVersion", listed) if alias in aliases
            )
    return found


def versions(release: str) -> Json:
    """The kinds of a release by "GROUP/VERSION/KIND", each with its markers and "on"."""
    root, on = module_folder("api", release), on_by_default(release)
    if not on:
        raise ValueError(f"no version is on by default in {release}: the source has another form")
    found: Json = {}
    for register in sorted(root.rglob("register.go")):
        folder, text = register.parent, register.read_text()
        group = GROUP.search(text)
        if group is None:
            continue
        markers: dict[str, Json] = {}
        for generated in folder.glob("zz_generated.prerelease-lifecycle.go"):
            for kind, what, major, minor in MARKER.findall(generated.read_text()):
                markers.setdefault(kind, {})[what.lower()] = f"{major}.{minor}"
        for kind in KIND.findall(text):
            if not kind.endswith(("List", "Options")):
                place = f"{group[1]}/{folder.name}/{kind}"
                found[place] = {"on": str(folder.relative_to(root)) in on, **markers.get(kind, {})}
    return found


def build() -> Json:
    """The result as a JSON value."""
    minors = [minor_of(release) for release in RELEASES]
    content: Json = {}
    for minor, release in zip(minors, RELEASES, strict=True):
        for place, facts in versions(release).items():
            entry = content.setdefault(place, {})
            entry[minor] = facts.pop("on")
            entry.update(facts)
    return {"minors": minors, "versions": dict(sorted(content.items()))}


def text_of(content: Json) -> str:
    return f'{{"minors":{json.dumps(content["minors"])},\n"versions":{{\n{lines_of(content["versions"])}\n}}}}\n'


if __name__ == "__main__":
    sys.exit(write_or_check(TARGET, lambda: text_of(build()), __doc__))
