"""The minors of Kubernetes that are known, and the release of each whose behaviour is recorded."""

from __future__ import annotations

import re
from collections.abc import Mapping

DEFAULT = "1.36"
GIT_VERSIONS: Mapping[str, str] = {"1.34": "v1.34.4", "1.35": "v1.35.4", "1.36": "v1.36.3", "1.37": "v1.37.2"}
"""The releases that are served, by minor."""
CATALOGUED = "1.36"
"""The minor of which gateway/schema/catalog.json is made; those before it are told by what differs."""
CATALOGS: Mapping[str, str] = {"1.37": "catalog-1.37.json"}
"""The minors that have a catalog of their own in gateway/schema/."""
UNFINISHED = ("1.37",)
"""Minors that are served, though much of what they changed is not here yet; a start warns of it."""


def minor_of(text: str) -> str:
    """The minor that --kubernetes-version names: "1.35" of "1.35", "v1.35" and "1.35.4".

    Raises ValueError with what may be given.
    """
    named = text.removeprefix("v")
    for minor, version in GIT_VERSIONS.items():
        if named in (minor, version.removeprefix("v")):
            return minor
    raise ValueError(f"this server serves no such version of Kubernetes; give one of {', '.join(GIT_VERSIONS)}")


def catalog_file(minor: str) -> str:
    """The file in gateway/schema/ that has the resources and types of a minor."""
    return CATALOGS.get(minor, "catalog.json")


def minor_of_assets(name: str) -> str:
    """The minor of envtest's assets: "1.35" of "1.35", "1.35.x", "1.35.0-linux-amd64"; "" where none is named.

    Which patch of a minor is named does not matter. Raises ValueError with what may be given for a minor that is not
    served.
    """
    found = re.match(r"v?(\d+\.\d+)(?![\d])", name)
    return minor_of(found[1]) if found else ""


def number(minor: str) -> tuple[int, int]:
    """What minors are compared by: (1, 36) of "1.36"."""
    major, _, rest = minor.partition(".")
    return int(major), int(rest)


def before(minor: str) -> str:
    """The minor before one: "1.35" of "1.36"."""
    major, rest = number(minor)
    return f"{major}.{rest - 1}"
