"""Conversions between served versions that share storage."""

from typing import Any

import pytest

from gateway.kinds.builtin import builtin_registry
from gateway.kinds.conversions.convert import convert
from gateway.kinds.identity import GroupVersion

REFERENCE = {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}
METRIC = {"name": "m", "selector": {"matchLabels": {"a": "b"}}}
METRICS = [
    {"type": "Resource", "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1500m"}}},
    {"type": "Pods", "pods": {"metric": METRIC, "target": {"type": "AverageValue", "averageValue": "10"}}},
    {"type": "External", "external": {"metric": METRIC, "target": {"type": "Value", "value": "10"}}},
    {"type": "Object", "object": {"describedObject": REFERENCE, "metric": METRIC,
                                  "target": {"type": "AverageValue", "averageValue": "1"}}},
    {"type": "ContainerResource", "containerResource": {"name": "cpu", "container": "c",
                                                        "target": {"type": "Utilization", "averageUtilization": 5}}},
    {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}},
]  # fmt: skip


def converted(obj: dict[str, Any], kind: str, source: str, target: str) -> dict[str, Any]:
    return convert(obj, kind, GroupVersion.parse(source), GroupVersion.parse(target))


def autoscaler(**spec: Any) -> dict[str, Any]:
    return {
        "kind": "HorizontalPodAutoscaler",
        "apiVersion": "autoscaling/v2",
        "metadata": {"name": "h", "annotations": {"keep": "1"}},
        "spec": {"scaleTargetRef": REFERENCE, "maxReplicas": 3, **spec},
        "status": {
            "desiredReplicas": 1,
            "currentMetrics": [{"type": "Resource", "resource": {"name": "cpu", "current": {"averageValue": "1"}}}],
            "conditions": [{"type": "A", "status": "True", "lastTransitionTime": None}],
        },
    }


def test_an_autoscaler_survives_the_way_through_version_one() -> None:
    behavior = {
        "scaleUp": {"stabilizationWindowSeconds": 0, "policies": [{"type": "Pods", "value": 4, "periodSeconds": 15}]}
    }
    given = autoscaler(metrics=METRICS, behavior=behavior)
    old = converted(given, "HorizontalPodAutoscaler", "autoscaling/v2", "autoscaling/v1")
    assert old["spec"]["targetCPUUtilizationPercentage"] == 50
    assert old["apiVersion"] == "autoscaling/v1"
    assert (
        '"ScaleUp":{"StabilizationWindowSeconds":0'
        in old["metadata"]["annotations"]["autoscaling.alpha.kubernetes.io/behavior"]
    )
    assert converted(old, "HorizontalPodAutoscaler", "autoscaling/v1", "autoscaling/v2") == given


_ALPHA = "autoscaling.alpha.kubernetes.io/"


@pytest.mark.parametrize(
    ("annotations", "kept", "percent"),
    [
        ({"metrics": "broken"}, {}, 80),
        ({"metrics": "[]", "behavior": "[]", "conditions": "{", "current-metrics": "null"}, {}, 80),
        ({"metrics": '[{"type":"Resource","resource":{"name":"cpu","targetAverageUtilization":3}}]'}, {}, 3),
        ({"conditions": '[ {"type": "A", "status": "True"} ]'}, {"conditions": '[{"type":"A","status":"True"'}, 80),
        ({"scale-up-tolerance": "1"}, {}, 80),
    ],
)
def test_annotations_of_version_one_are_read_into_one_form(
    annotations: dict[str, str], kept: dict[str, str], percent: int
) -> None:
    kind = builtin_registry().by_kind("autoscaling", "v1", "HorizontalPodAutoscaler")
    given = {_ALPHA + name: text for name, text in annotations.items()} | {"keep": "1"}
    old: dict[str, Any] = {"metadata": {"annotations": given}, "spec": {"scaleTargetRef": REFERENCE, "maxReplicas": 3}}
    assert kind is not None and kind.read_internal is not None
    kind.read_internal(old)
    found = old["metadata"]["annotations"]
    assert found.keys() == {_ALPHA + name for name in kept} | {"keep"}
    assert all(found[_ALPHA + name].startswith(text) for name, text in kept.items())
    assert old["spec"]["targetCPUUtilizationPercentage"] == percent


def test_version_one_aims_at_80_percent_when_it_says_nothing_else() -> None:
    old = {"metadata": {}, "spec": {"scaleTargetRef": REFERENCE, "maxReplicas": 3}}
    new = converted(old, "HorizontalPodAutoscaler", "autoscaling/v1", "autoscaling/v2")
    target = new["spec"]["metrics"][0]["resource"]["target"]
    assert target == {"type": "Utilization", "averageUtilization": 80}


def test_annotations_that_cannot_be_read_count_for_nothing() -> None:
    annotations = {"autoscaling.alpha.kubernetes.io/metrics": "[5]", "autoscaling.alpha.kubernetes.io/behavior": "x"}
    old = {"metadata": {"annotations": annotations}, "spec": {"scaleTargetRef": REFERENCE, "maxReplicas": 3}}
    new = converted(old, "HorizontalPodAutoscaler", "autoscaling/v1", "autoscaling/v2")
    assert len(new["spec"]["metrics"]) == 1
    assert "annotations" not in new["metadata"]


def test_events_have_other_names_in_their_own_group() -> None:
    core = {
        "kind": "Event", "apiVersion": "v1", "metadata": {"name": "e"}, "involvedObject": {"name": "p"}, "message": "m",
        "source": {}, "firstTimestamp": None, "lastTimestamp": None, "eventTime": None, "count": 2,
        "reportingComponent": "c", "reportingInstance": "",
    }  # fmt: skip
    new = converted(core, "Event", "v1", "events.k8s.io/v1")
    assert (new["regarding"], new["note"], new["deprecatedCount"]) == ({"name": "p"}, "m", 2)
    assert new["reportingController"] == "c"
    assert converted(new, "Event", "events.k8s.io/v1", "v1") == core


def test_other_versions_are_refused() -> None:
    with pytest.raises(ValueError, match="cannot be converted"):
        converted({}, "Pod", "v1", "v2")
