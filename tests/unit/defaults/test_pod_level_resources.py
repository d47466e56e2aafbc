"""A pod that sets some resources of its own gets the others from its containers (KEP-2837)."""

from __future__ import annotations

from typing import Any

from gateway.defaults import apply_defaults, apply_gated_defaults
from gateway.defaults.pod_level_resources import complete_pod_resources


def resources_of(resources: dict[str, Any], *containers: dict[str, Any], init: tuple[Any, ...] = ()) -> dict[str, Any]:
    spec = {
        "resources": resources,
        "containers": [{"name": "c", "image": "a", "resources": each} for each in containers],
        "initContainers": [{"name": "i", "image": "a", **each} for each in init],
    }
    apply_defaults("v1", "Pod", {"metadata": {}, "spec": spec})
    return resources


def test_requests_are_the_sum_over_containers() -> None:
    got = resources_of(
        {"limits": {"cpu": "3", "memory": "2Gi"}},
        {"requests": {"cpu": "1", "memory": "1Gi"}},
        {"requests": {"cpu": "500m", "memory": "512Mi"}},
    )
    assert got["requests"] == {"cpu": "1500m", "memory": "1536Mi"}


def test_init_containers_run_one_at_a_time_and_sidecars_beside_all() -> None:
    sidecar = {"restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}}
    last = {"resources": {"requests": {"cpu": "2500m"}}}
    got = resources_of({"limits": {"cpu": "8"}}, {"requests": {"cpu": "1"}}, init=(sidecar, last))
    assert got["requests"] == {"cpu": "3500m"}


def test_without_container_requests_the_pods_limits_are_requested() -> None:
    assert resources_of({"limits": {"cpu": "2", "memory": "1500M"}}, {}) == {
        "limits": {"cpu": "2", "memory": "1500M"},
        "requests": {"cpu": "2", "memory": "1500M"},
    }


def test_limits_of_huge_pages_come_from_the_containers() -> None:
    pages = {"limits": {"hugepages-2Mi": "4Mi", "cpu": "1"}}
    assert resources_of({"requests": {"cpu": "2"}}, pages, pages) == {
        "limits": {"hugepages-2Mi": "8Mi"},
        "requests": {"cpu": "2", "hugepages-2Mi": "8Mi"},
    }


def test_a_pod_without_resources_of_its_own_gets_none() -> None:
    assert resources_of({}, {"requests": {"cpu": "1"}}) == {}


def completed(resources: dict[str, Any], *containers: dict[str, Any]) -> dict[str, Any]:
    """What a pod's own resources are once admission has seen it (PodLevelResourcesFixDefaulting)."""
    spec = {
        "resources": resources,
        "containers": [{"name": "c", "image": "a", "resources": each} for each in containers],
    }
    before = dict(resources)
    apply_gated_defaults("v1", "Pod", {"metadata": {}, "spec": spec})
    assert resources == before
    complete_pod_resources(spec)
    return resources


def test_limits_follow_from_those_of_all_containers() -> None:
    both = {"limits": {"cpu": "1", "memory": "1Gi"}}
    assert completed({"requests": {"cpu": "1"}}, both, both) == {
        "requests": {"cpu": "1", "memory": "2Gi"},
        "limits": {"cpu": "2", "memory": "2Gi"},
    }
    assert completed({"requests": {"cpu": "1"}}, both, {"limits": {"memory": "1Gi"}})["limits"] == {"memory": "2Gi"}


def test_a_limit_is_not_below_the_request() -> None:
    assert completed({"requests": {"cpu": "3"}}, {"limits": {"cpu": "1"}})["limits"] == {"cpu": "3"}


def test_a_pod_without_resources_of_its_own_gets_none_after_admission_either() -> None:
    assert completed({}, {"limits": {"cpu": "1"}}) == {}
