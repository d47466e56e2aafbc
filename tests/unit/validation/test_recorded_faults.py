"""Faulty objects of every kind: what a kube-apiserver said of them (tests/upstream/validation_faults), validation alone
says.

One recording for each field and wording of a cause; and of what was accepted, what comes close to a fault. The kinds
whose rules 1.37 changed are recorded a second time, from that minor.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from functools import cache, partial
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from gateway.kinds.identity import GroupResource
from gateway.kinds.strategies import MODULES
from gateway.release.minors import minor_of
from tests.unit.validation.replaying import registry_of, told
from tests.upstream.validation_faults.wrongs import patched

RECORDED = Path(__file__).with_name("recorded")
WHOLE, LATER = "faults.json.gz", "faults-1.37.json.gz"
FEWEST = 600
EMPTY_TOLD_APART = 20  # of the recorded ones


@cache
def recording(name: str) -> Any:
    return json.loads(gzip.decompress((RECORDED / name).read_bytes()))


def place(name: str, case: Any) -> tuple[str, str]:
    return recording(name)["bases"][case["base"]]["resource"], case["via"]


def by_place(name: str) -> Iterator[tuple[tuple[str, str], list[Any]]]:
    key = partial(place, name)
    for found, cases in groupby(sorted(recording(name)["cases"], key=key), key=key):
        yield found, list(cases)


CASES = [
    pytest.param(name, cases, id=f"{name.removesuffix('.json.gz')}-{resource}-{via}")
    for name in (WHOLE, LATER)
    for (resource, via), cases in by_place(name)
]


def differences(name: str, case: Any) -> list[str]:
    """What validation says that the kube-apiserver did not, and the other way round."""
    base, via = recording(name)["bases"][case["base"]], case["via"]
    old = None if via == "create" else base["old"]
    sent = patched(base["create"] if old is None else old, case["patch"])
    minor = minor_of(recording(name)["version"])
    ours = told(base["resource"], "" if via in ("create", "update") else via, sent, old, minor)
    if isinstance(ours, list):
        ours = [[cause["reason"], cause["field"], cause["message"]] for cause in ours]
    theirs = case.get("causes", [])
    if case.get("unordered") and isinstance(ours, list):
        ours, theirs = sorted(ours), sorted(theirs)
    return [] if ours == theirs else [f"{case['patch']}: {ours}, should be {theirs}"]


def sends_nothing(case: Any) -> bool:
    """Whether the fault is an empty list or map, which is taken as absent here (docs/reference/differences.md)."""
    return any(_has_empty(value) for _, value in case["patch"][-1:])


def _has_empty(value: Any) -> bool:
    match value:
        case [] | {} if not value:
            return True
        case dict():
            return any(map(_has_empty, value.values()))
        case list():
            return any(map(_has_empty, value))
    return False


@pytest.mark.parametrize(("name", "cases"), CASES)
def test_faults_are_told_as_by_a_kube_apiserver(name: str, cases: list[Any]) -> None:
    found = [line for case in cases if not sends_nothing(case) for line in differences(name, case)]
    assert not found, f"{len(found)} of {len(cases)} differ\n" + "\n".join(found)


@pytest.mark.parametrize("name", [WHOLE, LATER])
def test_few_messages_tell_an_empty_list_from_none(name: str) -> None:
    empty = [case for case in recording(name)["cases"] if sends_nothing(case)]
    assert sum(bool(differences(name, case)) for case in empty) <= EMPTY_TOLD_APART


def test_every_strategy_is_among_the_faults() -> None:
    faulty = {place(name, case)[0] for name in (WHOLE, LATER) for case in recording(name)["cases"] if "causes" in case}
    served = {tuple(name.rpartition("/")[::2]) for name in faulty}
    named = {GroupResource(version.rpartition("/")[0], plural) for version, plural in served}
    resources = registry_of(minor_of(recording(LATER)["version"])).resources
    of_the_minor = {each.gvr.group_resource for each in resources.values()}
    assert set(MODULES) & of_the_minor <= named


def test_there_are_faults_enough() -> None:
    for name, version in ((WHOLE, "v1.36."), (LATER, "v1.37.")):
        assert sum("causes" in case for case in recording(name)["cases"]) >= FEWEST
        assert recording(name)["version"].startswith(version)
