"""Which versions of kinds a minor has (data/lifecycle.json, which hack/minors/lifecycle.py makes).

The file is read where another minor is served than the one of the catalog, and else never.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from gateway.jsontypes import loads

Key = tuple[str, str, str]  # group, version, plural
GROUPS_OF_OTHER_MODULES = frozenset({"apiextensions.k8s.io", "apiregistration.k8s.io"})
"""Groups that kube-apiserver has of modules beside k8s.io/api; their v1 is in every minor that is known."""


@cache
def _document() -> dict[str, Any]:
    content: dict[str, Any] = loads((Path(__file__).parent / "data" / "lifecycle.json").read_bytes())
    return content


def serves(minor: str, group: str, version: str, kind: str) -> bool:
    """Whether kube-apiserver of a minor serves a version of a kind by default. Raises KeyError for an unknown minor."""
    if minor not in _document()["minors"]:
        raise KeyError(minor)
    if group in GROUPS_OF_OTHER_MODULES:
        return version == "v1"
    return bool(_document()["versions"].get(f"{group}/{version}/{kind}", {}).get(minor, False))


def absent(minor: str, kinds: Iterable[tuple[Key, str]]) -> frozenset[Key]:
    """Those of some resources, each with its kind, that a minor does not serve by default. Raises as `serves` does."""
    return frozenset(key for key, kind in kinds if not serves(minor, key[0], key[1], kind))
