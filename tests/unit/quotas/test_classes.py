"""Device classes and pods that count for a ResourceClaim, by the watch cache."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.jsontypes import dumps
from gateway.quotas.classes import EXTENDED_CLAIM, CachedClasses
from tests.unit.verbs.fake_store import FakeStore

ROOT = b"/registry/"
POD = {
    "metadata": {"namespace": "n", "name": "p", "uid": "u"},
    "spec": {"containers": [{"name": "c", "resources": {"requests": {"example.com/gpu": "2", "cpu": "1"}}}]},
}


@pytest.fixture
def store() -> FakeStore:
    made = FakeStore()
    put(made, "deviceclasses/gpus", {"metadata": {"name": "gpus"}, "spec": {"extendedResourceName": "example.com/gpu"}})
    put(made, "deviceclasses/plain", {"metadata": {"name": "plain", "labels": {"a": "example.com/nic"}}, "spec": {}})
    put(made, "pods/n/p", POD)
    return made


def put(store: FakeStore, path: str, obj: dict[str, Any]) -> None:
    head = {"kind": "Any", "apiVersion": "v1", "metadata": {"uid": "x"} | obj["metadata"]}  # as objects are stored
    store._put(ROOT + path.encode(), dumps(head | {name: value for name, value in obj.items() if name != "metadata"}))


def claim(called: str, made: str = "2026-01-01T00:00:00Z", **owner: Any) -> dict[str, Any]:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", "controller": True, **owner}
    annotations = {EXTENDED_CLAIM: "true"}
    meta = {"namespace": "n", "name": called, "creationTimestamp": made, "annotations": annotations}
    return {"metadata": {**meta, "ownerReferences": [owner]}}


@pytest.mark.parametrize(
    ("resource", "there"),
    [
        ("example.com/gpu", True),
        ("example.com/other", False),
        ("example.com/nic", False),  # a class has the text elsewhere
        ("deviceclass.resource.kubernetes.io/plain", True),
        ("deviceclass.resource.kubernetes.io/none", False),
    ],
)
def test_whether_a_class_gives_a_resource(store: FakeStore, resource: str, there: bool) -> None:
    assert CachedClasses(store, ROOT).has_class_of(resource) is there


def test_the_resource_of_a_class(store: FakeStore) -> None:
    classes = CachedClasses(store, ROOT)
    assert [classes.extended_resource(each) for each in ("gpus", "plain", "none")] == ["example.com/gpu", "", ""]


def test_the_oldest_of_the_claims_of_a_pod_counts(store: FakeStore) -> None:
    old, young = claim("old"), claim("young", "2026-01-02T00:00:00Z")
    for each in (old, young):
        put(store, f"resourceclaims/n/{each['metadata']['name']}", each)
    classes = CachedClasses(store, ROOT)
    assert classes.owner_usage(old) and not classes.owner_usage(young)


@pytest.mark.parametrize("owner", [{"uid": "other"}, {"name": "none"}, {"kind": "Job"}, {"controller": False}])
def test_a_claim_of_no_such_pod_counts_for_none(store: FakeStore, owner: dict[str, Any]) -> None:
    classes = CachedClasses(store, ROOT)
    assert classes.owner_usage(claim("c")) and not classes.owner_usage(claim("c", **owner))


@pytest.mark.parametrize(("named", "counts"), [("c", True), ("other", False)])
def test_the_pods_status_says_which_claim_is_its_own(store: FakeStore, named: str, counts: bool) -> None:
    put(store, "pods/n/p", {**POD, "status": {"extendedResourceClaimStatus": {"resourceClaimName": named}}})
    assert bool(CachedClasses(store, ROOT).owner_usage(claim("c"))) is counts
