"""The minors of Kubernetes that this server knows, and the release of each whose behaviour is recorded."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

DEFAULT = "1.37"
GIT_VERSIONS: Mapping[str, str] = {"1.34": "v1.34.4", "1.35": "v1.35.4", "1.36": "v1.36.3", "1.37": "v1.37.2"}
"""The releases that this server can serve, by minor."""
CATALOGUED = "1.36"
"""The minor of gateway/schema/catalog.json. Earlier minors are stored as differences from it."""
CATALOGS: Mapping[str, str] = {"1.37": "catalog-1.37.json"}
"""The minors that have a catalog of their own in gateway/schema/."""


def minor_of(text: str) -> str:
    """The minor that --kubernetes-version names: "1.35" for "1.35", "v1.35" and "1.35.4".

    Raises ValueError; the message lists the valid values.
    """
    named = text.removeprefix("v")
    for minor, version in GIT_VERSIONS.items():
        if named in (minor, version.removeprefix("v")):
            return minor
    raise ValueError(f"this server serves no such version of Kubernetes; give one of {', '.join(GIT_VERSIONS)}")


EMULATED = 3
"""How many minors before its own a server can emulate."""


def emulated_minor(text: str) -> str:
    """The minor that --emulated-version or --min-compatibility-version names: "1.35" for "1.35" and "kube=1.35".

    Raises ValueError, worded as kube-apiserver words it.
    """
    found = dict[str, str]()
    for part in text.split(","):
        name, separator, version = part.partition("=")
        component, version = (name.strip(), version.strip()) if separator else ("kube", part.strip())
        match = re.fullmatch(r"v?(\d+)\.(\d+)(?:\.(\d+))?", version, re.ASCII)
        if match is None:
            raise ValueError(f'could not parse "{version}" as version')
        major, minor, patch = match.groups("0")
        shown = f"{int(major)}.{int(minor)}" + (f".{int(patch)}" if match[3] else "")
        if int(patch):
            raise ValueError(f"patch version not allowed, got: {component}={shown}")
        if component in found:
            before_it = found[component]
            raise ValueError(f"duplicate version flag, {component}={before_it} and {component}={shown}")
        found[component] = f"{int(major)}.{int(minor)}"
    for component in found:
        if component != "kube":
            raise ValueError(f"component not registered: {component}")
    return found["kube"]


def check_emulated(minor: str, binary: str, compatible: str = "") -> None:
    """Raises ValueError, with the reason, if a server of the minor `binary` cannot emulate `minor`, or cannot be
    compatible with `compatible`; "" stands for the defaults of both flags.

    Rules and words are those of `Validate` in k8s.io/component-base/compatibility.
    """
    minor, least = minor or binary, _floor(binary)
    compatible = compatible or compatible_with(minor, binary)
    wrong = list[str]()
    if not number(least) <= number(minor) <= number(binary):
        wrong.append(f"emulation version {minor} is not between [{least}, {binary}.0]")
    if not number(least) <= number(compatible) <= number(minor):
        wrong.append(f"minCompatibilityVersion version {compatible} is not between [{least}, {minor}]")
    if wrong:
        raise ValueError(wrong[0] if len(wrong) == 1 else f"[{', '.join(wrong)}]")
    if minor not in GIT_VERSIONS:
        there = ", ".join(each for each in GIT_VERSIONS if number(least) <= number(each) <= number(binary))
        raise ValueError(f"this server does not emulate {minor}; give one of {there}")


def compatible_with(minor: str, binary: str) -> str:
    """The default minCompatibilityVersion of a server of `binary` that emulates `minor`: the least minor of replicas.

    It is the one before `minor`, but not more than three before `binary`.
    """
    return max(before(minor), _floor(binary), key=number)


def _floor(binary: str) -> str:
    """The lowest minor that a server of `binary` emulates, or is compatible with."""
    major, last = number(binary)
    return f"{major}.{last - EMULATED}"


def catalog_file(minor: str) -> str:
    """The file in gateway/schema/ with the resources and types of a minor."""
    return CATALOGS.get(minor, "catalog.json")


def minor_of_assets(name: str) -> str:
    """The minor in the name of envtest's assets: "1.35" for "1.35", "1.35.x", "1.35.0-linux-amd64"; "" without one.

    The patch version is ignored. Raises ValueError for a minor that is not served; the message lists the valid ones.
    """
    found = re.match(r"v?(\d+\.\d+)(?![\d])", name)
    return minor_of(found[1]) if found else ""


def number(minor: str) -> tuple[int, int]:
    """The sort key of a minor: (1, 36) for "1.36"."""
    major, _, rest = minor.partition(".")
    return int(major), int(rest)


def before(minor: str) -> str:
    """The minor before `minor`: "1.35" for "1.36"."""
    major, rest = number(minor)
    return f"{major}.{rest - 1}"


_version_parts = re.compile(r"v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?").fullmatch


def version_priority(version: str) -> tuple[Any, ...]:
    """A sort key that puts versions as Kubernetes does: stable before beta before alpha, newer first, then the rest."""
    parts = _version_parts(version)
    if parts is None:
        return 1, version
    return 0, {None: 0, "beta": 1, "alpha": 2}[parts[2]], -int(parts[1]), -int(parts[3] or 0)
