"""What a delete does to an object: the rules of graceful deletion and finalizers."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.kinds.builtin import builtin_registry
from gateway.writing.deletion_plan import Step, plan
from gateway.writing.options import DeleteOptions

RESOURCES = builtin_registry().resources
PODS, CONFIG_MAPS, JOBS = (
    RESOURCES[key].strategy
    for key in (("", "v1", "pods", ""), ("", "v1", "configmaps", ""), ("batch", "v1", "jobs", ""))
)


def pod(*, node: str = "n", grace: int = 30, phase: str = "Running", **meta: Any) -> dict[str, Any]:
    spec = {"nodeName": node, "terminationGracePeriodSeconds": grace}
    return {"metadata": {"name": "p", **meta}, "spec": spec, "status": {"phase": phase}}


def test_an_ordinary_object_goes_at_once() -> None:
    assert plan(CONFIG_MAPS, {"metadata": {}}, DeleteOptions(), collected=True).step is Step.REMOVE


def test_finalizers_keep_an_object_marked() -> None:
    obj: dict[str, Any] = {"metadata": {"finalizers": ["x/y"], "generation": 1}}
    assert plan(CONFIG_MAPS, obj, DeleteOptions(), collected=True).step is Step.MARK
    meta = obj["metadata"]
    assert meta["deletionGracePeriodSeconds"] == 0
    assert meta["generation"] == 2
    marked = meta["deletionTimestamp"]
    assert plan(CONFIG_MAPS, obj, DeleteOptions(), collected=True).step is Step.MARK
    assert (meta["deletionTimestamp"], meta["generation"]) == (marked, 2)


@pytest.mark.parametrize(
    ("obj", "asked", "step", "grace"),
    [
        (pod(), None, Step.MARK, 30),
        (pod(), 5, Step.MARK, 5),
        (pod(), -1, Step.MARK, 1),
        (pod(), 0, Step.MARK_AND_REMOVE, 0),
        (pod(node=""), 20, Step.MARK_AND_REMOVE, 0),
        (pod(phase="Failed"), None, Step.MARK_AND_REMOVE, 0),
        (pod(finalizers=["x/y"]), 0, Step.MARK, 0),
    ],
)
def test_pods_are_deleted_gracefully(obj: dict[str, Any], asked: int | None, step: Step, grace: int) -> None:
    assert plan(PODS, obj, DeleteOptions(grace_period=asked), collected=True).step is step
    assert obj["metadata"]["deletionGracePeriodSeconds"] == grace


def test_a_pod_may_only_go_sooner() -> None:
    obj = pod()
    plan(PODS, obj, DeleteOptions(), collected=True)
    assert plan(PODS, obj, DeleteOptions(grace_period=60), collected=True).step is Step.NOTHING
    assert plan(PODS, obj, DeleteOptions(), collected=True).step is Step.NOTHING
    assert plan(PODS, obj, DeleteOptions(grace_period=5), collected=True).step is Step.MARK
    assert obj["metadata"]["deletionGracePeriodSeconds"] == 5
    assert plan(PODS, obj, DeleteOptions(grace_period=0), collected=True).step is Step.MARK_AND_REMOVE


@pytest.mark.parametrize(
    ("options", "finalizers"),
    [
        (DeleteOptions(), ["orphan"]),
        (DeleteOptions(propagation="Background"), []),
        (DeleteOptions(propagation="Foreground"), ["foregroundDeletion"]),
        (DeleteOptions(orphan_dependents=False), []),
    ],
)
def test_propagation_sets_finalizers(options: DeleteOptions, finalizers: list[str]) -> None:
    obj: dict[str, Any] = {"metadata": {}}
    plan(JOBS, obj, options, collected=True)
    assert obj["metadata"].get("finalizers", []) == finalizers


def test_without_a_collector_propagation_sets_none() -> None:
    assert plan(JOBS, {"metadata": {}}, DeleteOptions(), collected=False).step is Step.REMOVE


@pytest.mark.parametrize("policy", ["Foreground", "Orphan"])
def test_a_definition_notes_no_propagation_when_its_end_begins(policy: str) -> None:
    strategy = RESOURCES["apiextensions.k8s.io", "v1", "customresourcedefinitions", ""].strategy
    finalizers = ["customresourcecleanup.apiextensions.k8s.io"]
    obj: dict[str, Any] = {"metadata": {"finalizers": finalizers[:]}, "spec": {}, "status": {}}
    assert plan(strategy, obj, DeleteOptions(propagation=policy), collected=True).step is Step.MARK
    assert obj["metadata"]["finalizers"] == finalizers
    plan(strategy, obj, DeleteOptions(propagation=policy), collected=True)
    assert len(obj["metadata"]["finalizers"]) == 2
