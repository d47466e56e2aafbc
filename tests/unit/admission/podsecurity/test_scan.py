"""Warnings about existing pods when a namespace's labels change: which pods are checked, and the messages."""

from __future__ import annotations

import itertools
import time
from typing import Any

import pytest

from gateway.admission.podsecurity import scan
from gateway.admission.podsecurity.levels import Level, LevelVersion
from gateway.jsontypes import JsonObject, dumps
from storage.entry import Entry
from tests.limits import at_most_cpu

BASELINE = LevelVersion(Level.BASELINE)


class _Pod:
    """The parts of a cache entry that the scan reads."""

    def __init__(self, name: str, controller: str = "", **spec: Any) -> None:
        owners = [{"uid": controller, "controller": True}] if controller else []
        self._object = {"metadata": {"name": name, "ownerReferences": owners}, "spec": {"containers": [], **spec}}
        self.readable = self

    def parsed(self) -> JsonObject:
        return self._object


def stored(index: int) -> Entry:
    """A pod of its own specification, as the cache has it before anybody has read it."""
    container = {"name": "c", "image": f"i:{index}", "env": [{"name": f"E{n}", "value": "v" * 20} for n in range(20)]}
    made = {"metadata": {"name": f"p{index}"}, "spec": {"containers": [container, {**container, "name": "d"}]}}
    return Entry(b"/registry/pods/n/p%d" % index, b'{"kind":"Pod","apiVersion":"v1",', dumps(made)[1:], index + 1)


async def warned(pods: list[Any], exempt: Any = lambda spec: False) -> list[str]:
    entries: list[Entry] = pods
    return await scan.warnings_of(entries, "n", BASELINE, exempt)


async def test_pods_are_told_of_by_what_they_violate() -> None:
    pods = [_Pod("b", hostPID=True), _Pod("c"), _Pod("a", hostPID=True), _Pod("d", hostIPC=True, volumes=[])]
    path = _Pod("e", volumes=[{"name": "v", "hostPath": {}}])
    assert await warned([*pods, path]) == [
        'existing pods in namespace "n" violate the new PodSecurity enforce level "baseline:latest"',
        "a (and 2 other pods): host namespaces",
        "e: hostPath volumes",
    ]
    assert await warned([_Pod("c")]) == []


async def test_one_pod_of_each_controller_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "MOST_PODS", 2)
    pods = [_Pod("a", "one"), _Pod("b", "one"), _Pod("c", "one", hostPID=True), _Pod("d", "two", hostPID=True)]
    assert await warned(pods) == [
        "new PodSecurity enforce level only checked against the first 2 of 4 existing pods",
        'existing pods in namespace "n" violate the new PodSecurity enforce level "baseline:latest"',
        "d: host namespaces",
    ]


async def test_exempt_pods_are_not_counted() -> None:
    pods = [_Pod("a", runtimeClassName="x", hostPID=True), _Pod("b", hostPID=True)]
    assert (await warned(pods, lambda spec: spec.get("runtimeClassName") == "x"))[1:] == ["b: host namespaces"]


async def test_three_thousand_pods_take_less_than_the_second_that_they_may(monkeypatch: pytest.MonkeyPatch) -> None:
    """By CPU, whatever else the machine does; so the scan itself is given as long as it likes."""
    limit = scan.TIME
    monkeypatch.setattr(scan, "TIME", 3600.0)
    pods = [stored(index) for index in range(scan.MOST_PODS)]
    began = time.process_time()
    found = await scan.warnings_of(pods, "n", LevelVersion(Level.RESTRICTED), lambda spec: False)
    at_most_cpu(time.process_time() - began, limit)
    assert len(found) == 2, "all were looked at"
    assert found[1].startswith("p0 (and 2999 other pods): allowPrivilegeEscalation != false")


async def test_it_ends_when_its_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = itertools.count(step=0.1)
    monkeypatch.setattr(scan.time, "monotonic", lambda: next(clock))
    found = await warned([_Pod(str(index)) for index in range(100)])
    assert len(found) == 1
    assert found[0].endswith("of 100 existing pods")
