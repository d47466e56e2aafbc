"""The versions of kinds that a minor serves (data/lifecycle.json, which hack/minors/lifecycle.py makes).

The file is read only for a minor other than the catalog's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from gateway.jsontypes import loads
from gateway.release.minors import number, version_priority

Key = tuple[str, str, str]  # group, version, plural
GROUPS_OF_OTHER_MODULES = frozenset({"apiextensions.k8s.io", "apiregistration.k8s.io"})
"""Groups whose types come from modules other than k8s.io/api. Every known minor serves their v1."""

_DECLARED = {("storage.k8s.io", "VolumeAttributesClass"): {"1.34": "v1beta1", "1.35": "v1beta1"}}
"""Versions in which kube-apiserver of a minor stores a kind that it serves in a higher one, too
(k8s.io/kubernetes/pkg/kubeapiserver/default_storage_factory_builder.go).
"""


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


def knows(minor: str, group: str, version: str, kind: str) -> bool:
    """Whether kube-apiserver of a minor has a version of a kind, by default or if --runtime-config asks for it."""
    return minor in _document()["versions"].get(f"{group}/{version}/{kind}", {})


def warning(minor: str, group: str, version: str, kind: str) -> str:
    """What kube-apiserver of a minor says of a deprecated version, without its replacement; "" if it is not deprecated.

    The words are those of k8s.io/apiserver/pkg/endpoints/deprecation.
    """
    facts = _document()["versions"][f"{group}/{version}/{kind}"]
    since, until = facts.get("deprecated"), facts.get("removed")
    if since is None or number(minor) < number(since):
        return ""
    gone = f", unavailable in v{until}+" if until else ""
    return f"{group}/{version} {kind} is deprecated in v{since}+{gone}"


def announced_version(binary: str, compatible: str, group: str, version: str, kind: str) -> str:
    """The version of a kind that kube-apiserver of the minor `binary` stores, given the highest one, `version`.

    It is the highest version that is as old as `compatible`, the minCompatibilityVersion, so that earlier replicas read
    what this one writes; `version` if there is none (k8s.io/apiserver/pkg/server/storage/resource_encoding_config.go).
    The server announces this version by its hash in discovery, and stores `version`.
    """
    if group == "apiextensions.k8s.io":
        return "v1beta1"  # declared as such, whatever the minor
    if declared := _DECLARED.get((group, kind), {}).get(binary):
        return declared
    for each, facts in _by_kind().get((group, kind), ()):
        if binary in facts and number(facts.get("introduced", "1.0")) <= number(compatible):
            return each
    return version


@cache
def _by_kind() -> Mapping[tuple[str, str], list[tuple[str, Mapping[str, Any]]]]:
    """The versions of each kind with their facts, the highest one first."""
    found: dict[tuple[str, str], list[tuple[str, Mapping[str, Any]]]] = {}
    for place, facts in _document()["versions"].items():
        group, version, kind = place.split("/")
        found.setdefault((group, kind), []).append((version, facts))
    for versions in found.values():
        versions.sort(key=lambda each: version_priority(each[0]))
    return found


def absent(minor: str, kinds: Iterable[tuple[Key, str]]) -> frozenset[Key]:
    """The keys of the resources, given with their kinds, that a minor does not serve by default. Raises as `serves`."""
    return frozenset(key for key, kind in kinds if not serves(minor, key[0], key[1], kind))
