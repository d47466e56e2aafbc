"""The versions of kinds that a minor serves (data/lifecycle.json, which hack/minors/lifecycle.py makes).

The file is read only for a minor other than the catalog's.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from gateway.jsontypes import loads

Key = tuple[str, str, str]  # group, version, plural
GROUPS_OF_OTHER_MODULES = frozenset({"apiextensions.k8s.io", "apiregistration.k8s.io"})
"""Groups whose types come from modules other than k8s.io/api. Every known minor serves their v1."""


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
    """The keys of the resources, given with their kinds, that a minor does not serve by default. Raises as `serves`."""
    return frozenset(key for key, kind in kinds if not serves(minor, key[0], key[1], kind))
