"""LimitRanges: defaults, refusals, and their messages."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from gateway.admission.limits.limit_range import (
    ANNOTATION,
    comparisons,
    violations_of_claim,
    violations_of_pod,
    with_defaults,
)
from gateway.admission.limits.pod_usage import pod_usage, with_overhead
from gateway.admission.refusal import joined


def limits(*items: Any) -> dict[str, Any]:
    return {"spec": {"limits": list(items)}}


def container(name: str = "c", requests: Any = None, maximum: Any = None, **more: Any) -> dict[str, Any]:
    resources = {key: value for key, value in (("requests", requests), ("limits", maximum)) if value}
    return {"name": name, **({"resources": resources} if resources else {}), **more}


def texts(limit: dict[str, Any], *containers: Any, **spec: Any) -> list[str]:
    return list(violations_of_pod(limits(limit), {"containers": list(containers), **spec}))


def test_containers_get_what_they_lack_and_the_pod_says_so() -> None:
    made = {
        "metadata": {},
        "spec": {
            "containers": [container(requests={"cpu": "1"}), container("d")],
            "initContainers": [container("i", maximum={"memory": "1Gi"})],
        },
    }
    item = {"type": "Container", "default": {"memory": "2Gi"}, "defaultRequest": {"cpu": "100m", "memory": "1Mi"}}
    before = deepcopy(made)
    given, made = made, with_defaults(limits(item, {"type": "Pod", "max": {"cpu": "1"}}), made)
    assert given == before
    assert made["spec"]["containers"][0]["resources"] == {
        "requests": {"cpu": "1", "memory": "1Mi"},
        "limits": {"memory": "2Gi"},
    }
    assert made["spec"]["initContainers"][0]["resources"]["limits"] == {"memory": "1Gi"}
    assert made["metadata"]["annotations"][ANNOTATION] == (
        "LimitRanger plugin set: memory request for container c; memory limit for container c; "
        "cpu, memory request for container d; memory limit for container d; cpu, memory request for init container i"
    )


def test_nothing_is_said_where_nothing_was_lacking() -> None:
    made = {"metadata": {}, "spec": {"containers": [container(requests={"cpu": "1"})]}}
    assert with_defaults(limits({"type": "Container", "defaultRequest": {"cpu": "2"}}), made) is made


@pytest.mark.parametrize(
    ("constraint", "given", "text"),
    [
        ({"min": {"cpu": "1"}}, container(), "minimum cpu usage per Container is 1.  No request is specified"),
        (
            {"min": {"cpu": "1"}},
            container(requests={"cpu": "999m"}),
            "minimum cpu usage per Container is 1, but request",
        ),
        (
            {"min": {"cpu": "1"}},
            container(requests={"cpu": "1"}, maximum={"cpu": "999m"}),
            "minimum cpu usage per Container is 1, but limit is 999m",
        ),
        ({"max": {"cpu": "1"}}, container(), "maximum cpu usage per Container is 1.  No limit is specified"),
        (
            {"max": {"cpu": "1"}},
            container(maximum={"cpu": "1001m"}),
            "maximum cpu usage per Container is 1, but limit is 1001m",
        ),
        (
            {"max": {"cpu": "1"}},
            container(requests={"cpu": "2"}, maximum={"cpu": "1"}),
            "maximum cpu usage per Container is 1, but request is 2",
        ),
        (
            {"maxLimitRequestRatio": {"cpu": "1500m"}},
            container(requests={"cpu": "2"}, maximum={"cpu": "3001m"}),
            "cpu max limit to request ratio per Container is 1500m, but provided ratio is 1.500500",
        ),
        (
            {"maxLimitRequestRatio": {"cpu": "2"}},
            container(maximum={"cpu": "1"}),
            "cpu max limit to request ratio per Container is 2, but no request is specified or request is 0",
        ),
        (
            {"maxLimitRequestRatio": {"cpu": "2"}},
            container(requests={"cpu": "1"}),
            "cpu max limit to request ratio per Container is 2, but no limit is specified or limit is 0",
        ),
    ],
)
def test_what_is_refused_of_a_container(constraint: Any, given: Any, text: str) -> None:
    (found,) = texts({"type": "Container", **constraint}, given)
    assert found.startswith(text)


def test_what_is_just_enough_is_taken() -> None:
    item = {
        "type": "Container",
        "min": {"cpu": "100m"},
        "max": {"cpu": "200m"},
        "maxLimitRequestRatio": {"cpu": "2"},
    }
    assert texts(item, container(requests={"cpu": "100m"}, maximum={"cpu": "200m"})) == []


def test_several_refusals_are_told_together_and_each_once() -> None:
    item = {"type": "Container", "max": {"cpu": "1", "memory": "1Mi"}}
    found = texts(item, container("a"), container("b"))
    assert len(found) == 4
    assert joined(found) == (
        "[maximum cpu usage per Container is 1.  No limit is specified, "
        "maximum memory usage per Container is 1Mi.  No limit is specified]"
    )
    assert joined(found[:1]) == found[0]


def test_what_does_not_fit_in_thousandths_is_compared_in_whole_units() -> None:
    item = {"type": "Container", "max": {"memory": "9223372036854775806"}}
    assert texts(item, container(maximum={"memory": "9223372036854775806"})) == []
    assert len(texts(item, container(maximum={"memory": "9223372036854775807"}))) == 1


def test_a_pod_s_limit_is_on_the_sum_of_its_containers() -> None:
    sidecar = container("s", requests={"cpu": "1"}, restartPolicy="Always")
    start = container("i", requests={"cpu": "3"})
    spec = {"containers": [container(requests={"cpu": "1"})], "initContainers": [sidecar, start]}
    assert str(pod_usage(spec, "requests")["cpu"]) == "4"  # the init container runs beside the sidecar
    whole = {**spec, "resources": {"requests": {"cpu": "500m"}}, "overhead": {"cpu": "250m", "memory": "1Mi"}}
    assert str(pod_usage(whole, "requests")["cpu"]) == "500m"
    assert {key: str(value) for key, value in with_overhead(pod_usage(whole, "requests"), whole).items()} == {
        "cpu": "750m",
        "memory": "1Mi",
    }
    assert list(violations_of_pod(limits({"type": "Pod", "min": {"cpu": "5"}}), spec)) == [
        "minimum cpu usage per Pod is 5, but request is 4"
    ]


def test_what_is_compared_is_counted() -> None:
    item = {"type": "Container", "max": {"cpu": "1", "memory": "1Mi"}, "min": {"cpu": "1"}}
    some = comparisons(limits(item), {"containers": [{}] * 10, "initContainers": [{}]})
    assert comparisons(limits(item), {"containers": [{}] * 1000}) > 80 * some > 80 * 3 * 10


def test_claims_are_held_to_what_they_request() -> None:
    item = {"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}, "max": {"storage": "2Gi"}}

    def of(storage: str) -> list[str]:
        return list(violations_of_claim(limits(item), {"resources": {"requests": {"storage": storage}}}))

    assert of("1536Mi") == []
    assert of("3Gi") == ["maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 3Gi"]
    assert list(violations_of_claim(limits(item), {})) == [
        "minimum storage usage per PersistentVolumeClaim is 1Gi.  No request is specified",
        "maximum storage usage per PersistentVolumeClaim is 2Gi.  No request is specified",
    ]


def test_claims_keep_what_they_request_already() -> None:
    item = {"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}, "max": {"storage": "2Gi", "other": "1"}}

    def of(old: dict[str, str], new: dict[str, str]) -> list[str]:
        before = {"resources": {"requests": old}}
        return list(violations_of_claim(limits(item), {"resources": {"requests": new}}, before))

    assert of({"storage": "3Gi", "other": "2"}, {"storage": "3072Mi", "other": "2"}) == []
    assert of({"storage": "3Gi", "other": "2"}, {"storage": "4Gi", "other": "2"}) == [
        "maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 4Gi"
    ]
    assert of({"storage": "3Gi"}, {"storage": "3Gi", "other": "2"}) == [
        "maximum other usage per PersistentVolumeClaim is 1, but request is 2"
    ]
    assert of({"storage": "3Gi", "other": "2"}, {"other": "2"}) != []
