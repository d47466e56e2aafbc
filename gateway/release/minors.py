"""The minors of Kubernetes that are known, and the release of each whose behaviour is recorded."""

from __future__ import annotations

from collections.abc import Mapping

DEFAULT = "1.36"
GIT_VERSIONS: Mapping[str, str] = {"1.36": "v1.36.3"}
"""The releases that are served, by minor."""


def before(minor: str) -> str:
    """The minor before one: "1.35" of "1.36"."""
    major, _, number = minor.partition(".")
    return f"{major}.{int(number) - 1}"
