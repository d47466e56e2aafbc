#!/usr/bin/env python3
"""Generates gateway/release/data/roles.json: which default roles and bindings a minor has others of.

    hack/minors/roles.py            # downloads k8s.io/kubernetes of RELEASES, and reads the fixtures of its policy
    hack/minors/roles.py --check    # exit 1 unless the committed file is what would be written

Layout of the result, an object a line:

    {"1.35": {"KIND/NAMESPACE/NAME": the object, or null where the minor has none}}

KIND is a plural, as in gateway/access/rbac/bootstrap_policy.json, which is of the minor of the catalog; NAMESPACE is
empty where there is none. The fixtures are what kube-apiserver makes with the gates that are on by default.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import yaml
from gates import RELEASES, minor_of, module_folder

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from hack.written import DATA, lines_of, write_or_check

TARGET = DATA / "roles.json"
CATALOGUED = "1.36"
FIXTURES = "plugin/pkg/auth/authorizer/rbac/bootstrappolicy/testdata"
Json = dict[str, Any]


def policy(release: str) -> Json:
    """The default objects of a release by KIND/NAMESPACE/NAME."""
    found: Json = {}
    for path in sorted((module_folder("kubernetes", release) / FIXTURES).glob("*.yaml")):
        if "featuregates" in path.name:
            continue
        for obj in yaml.safe_load(path.read_text())["items"]:
            meta, kind = obj["metadata"], obj.pop("kind").lower() + "s"
            obj.pop("apiVersion")
            meta.pop("creationTimestamp", None)
            found[f"{kind}/{meta.get('namespace', '')}/{meta['name']}"] = obj
    return found


def build() -> Json:
    """What differs, by minor."""
    by_minor = {minor_of(release): release for release in RELEASES}
    last = policy(by_minor[CATALOGUED])
    content: Json = {}
    for minor, release in by_minor.items():
        if minor != CATALOGUED:
            own = policy(release)
            names = sorted(last.keys() | own.keys())
            content[minor] = {name: own.get(name) for name in names if own.get(name) != last.get(name)}
    return content


def text_of(content: Json) -> str:
    minors = ",\n".join(f"{json.dumps(minor)}:{{\n{lines_of(found)}\n}}" for minor, found in content.items())
    return f"{{{minors}}}\n"


if __name__ == "__main__":
    sys.exit(write_or_check(TARGET, lambda: text_of(build()), __doc__))
