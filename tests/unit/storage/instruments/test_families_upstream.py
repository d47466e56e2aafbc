"""Families of metrics have kube-apiserver's names, types and labels; what is missing is listed with its reason."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from gateway.release.metrics import forms
from hack.metrics import families
from storage.instruments.families import AnyFamily, Counters
from storage.instruments.snapshot import FamilySnapshot, Form, snapshot_of

HERE = Path(__file__).parent
COMPUTED = "custom"  # a type that kube-apiserver's list does not tell
LISTS = {"1.36": "kube-apiserver.metrics", "1.37": "kube-apiserver-1.37.metrics"}
MINORS = pytest.mark.parametrize("minor", LISTS)


def upstream(minor: str) -> Iterator[tuple[str, str, frozenset[str]]]:
    """Names, types and labels."""
    for line in (HERE / LISTS[minor]).read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            name, kind, *labels = line.split()
            yield name, kind, frozenset(labels[0].split(",") if labels else ())


def excused() -> dict[str, str]:
    """Reasons, by patterns of names."""
    lines = (HERE / "absent.metrics").read_text(encoding="utf-8").splitlines()
    return dict(line.split(" | ") for line in lines if not line.startswith("#"))


@pytest.fixture(scope="module")
def declared() -> dict[str, AnyFamily]:
    return {family.name: family for family in families()}


def shown(declared: dict[str, AnyFamily], minor: str) -> dict[str, FamilySnapshot]:
    """The families that a server of the minor shows, without children."""
    as_in = forms(minor)
    assert as_in.keys() <= declared.keys()
    return {
        name: snapshot_of(family, form)
        for name, family in declared.items()
        if not (form := as_in.get(name, Form())).hidden
    }


@MINORS
def test_each_family_of_kube_apiserver_is_there_or_has_a_reason(declared: dict[str, AnyFamily], minor: str) -> None:
    reasons, ours = excused(), shown(declared, minor)
    missing = [
        name
        for name, _, _ in upstream(minor)
        if name not in ours and not any(fnmatchcase(name, pattern) for pattern in reasons)
    ]
    assert not missing


@MINORS
def test_types_and_labels_are_kube_apiservers(declared: dict[str, AnyFamily], minor: str) -> None:
    reasons, ours, other = excused(), shown(declared, minor), []
    for name, kind, labels in upstream(minor):
        family = ours.get(name)
        if family is None or name in reasons:
            continue
        if kind not in (family.kind, COMPUTED) or (labels and labels != set(family.labels)):
            other.append((name, kind, sorted(labels), family.kind, family.labels))
    assert not other


def test_what_kube_apiserver_no_longer_shows_is_hidden(declared: dict[str, AnyFamily]) -> None:
    names = {minor: {name for name, _, _ in upstream(minor)} for minor in LISTS}
    assert not (names["1.36"] - names["1.37"]) & shown(declared, "1.37").keys()
    assert not (names["1.37"] - names["1.36"]) & shown(declared, "1.36").keys()


def test_no_reason_is_left_over(declared: dict[str, AnyFamily]) -> None:
    names = {name: labels for minor in LISTS for name, _, labels in upstream(minor)}
    for pattern in excused():
        matching = [name for name in names if fnmatchcase(name, pattern)]
        assert matching, pattern
        absent = [name for name in matching if name not in declared]
        assert absent or names[pattern] != set(declared[pattern].label_names), pattern


def test_a_family_with_fewer_labels_adds_up_its_children() -> None:
    family = Counters("lists", "", ("group", "resource", "storage", "index"), "ALPHA")
    for storage, index, count in (("etcd", "", 1), ("etcd", "f", 2), ("watchcache", "", 4)):
        family.labels("", "pods", storage, index).inc(count)
    form = Form(level="BETA", labels=("group", "resource"), only=("storage", "etcd"))
    found = snapshot_of(family, form)
    assert (found.level, found.labels) == ("BETA", ("group", "resource"))
    assert [(sample.labels, sample.value) for sample in found.samples] == [(("", "pods"), 3)]
