"""Families of metrics have kube-apiserver's names, types and labels; what is missing is listed with its reason."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from hack.metrics import families
from storage.instruments.families import AnyFamily

HERE = Path(__file__).parent
COMPUTED = "custom"  # a type that kube-apiserver's list does not tell


def upstream() -> Iterator[tuple[str, str, frozenset[str]]]:
    """Names, types and labels."""
    for line in (HERE / "kube-apiserver.metrics").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            name, kind, *labels = line.split()
            yield name, kind, frozenset(labels[0].split(",") if labels else ())


def excused() -> dict[str, str]:
    """Reasons, by patterns of names."""
    lines = (HERE / "absent.metrics").read_text(encoding="utf-8").splitlines()
    return dict(line.split(" | ") for line in lines if not line.startswith("#"))


@pytest.fixture(scope="module")
def ours() -> dict[str, AnyFamily]:
    return {family.name: family for family in families()}


def test_each_family_of_kube_apiserver_is_there_or_has_a_reason(ours: dict[str, AnyFamily]) -> None:
    reasons = excused()
    missing = [
        name
        for name, _, _ in upstream()
        if name not in ours and not any(fnmatchcase(name, pattern) for pattern in reasons)
    ]
    assert not missing


def test_types_and_labels_are_kube_apiservers(ours: dict[str, AnyFamily]) -> None:
    reasons, other = excused(), []
    for name, kind, labels in upstream():
        family = ours.get(name)
        if family is None or name in reasons:
            continue
        if kind not in (family.kind, COMPUTED) or (labels and labels != set(family.label_names)):
            other.append((name, kind, sorted(labels), family.kind, family.label_names))
    assert not other


def test_no_reason_is_left_over(ours: dict[str, AnyFamily]) -> None:
    names = {name: labels for name, _, labels in upstream()}
    for pattern in excused():
        matching = [name for name in names if fnmatchcase(name, pattern)]
        assert matching, pattern
        absent = [name for name in matching if name not in ours]
        assert absent or names[pattern] != set(ours[pattern].label_names), pattern
