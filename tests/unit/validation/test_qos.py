"""The quality of service of pods: containers one after the other, and as a whole."""

from __future__ import annotations

import pytest

from gateway.jsontypes import JsonObject
from gateway.validation.field import FieldError
from gateway.validation.pod_resize import validate_pod_resize
from gateway.validation.qos import qos_class

FULL: JsonObject = {"cpu": "1", "memory": "1Gi"}
NONE: JsonObject = {}
SOME: JsonObject = {"requests": {"cpu": "100m"}}
GUARANTEED: JsonObject = {"requests": FULL, "limits": FULL}


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ([], "BestEffort"),
        ([NONE, NONE], "BestEffort"),
        ([{"requests": {"cpu": "0"}}, NONE], "BestEffort"),
        ([NONE, SOME], "Burstable"),
        ([SOME, NONE], "Burstable"),
        ([SOME, GUARANTEED], "Burstable"),
        ([GUARANTEED, NONE], "Burstable"),
        ([GUARANTEED, GUARANTEED], "Guaranteed"),
        ([{"requests": {"cpu": "1", "memory": "512Mi"}, "limits": FULL}, GUARANTEED], "Burstable"),
        ([{"requests": {"cpu": "1000m", "memory": "1024Mi"}, "limits": FULL}], "Guaranteed"),
    ],
)
def test_class_of_containers(resources: list[JsonObject], expected: str) -> None:
    containers = [{"name": f"c{n}", "resources": each} for n, each in enumerate(resources)]
    assert qos_class({"containers": containers}) == expected


@pytest.mark.parametrize(
    ("own", "before", "after"),
    [
        ({}, "BestEffort", "Guaranteed"),
        ({"limits": {"hugepages-2Mi": "2Mi"}}, "BestEffort", "BestEffort"),
        ({"requests": {"cpu": "1"}}, "Burstable", "Burstable"),
    ],
)
def test_a_pod_s_own_resources_count_only_if_they_name_one_from_1_37_on(
    own: JsonObject, before: str, after: str
) -> None:
    spec: JsonObject = {"resources": own, "containers": [{"resources": GUARANTEED}]}
    assert (qos_class(spec), qos_class(spec, own_if_set=True)) == (before, after)


def test_a_resize_keeps_the_class_that_the_pod_has_by_the_rules_of_its_release() -> None:
    spec: JsonObject = {"resources": {}, "containers": [{"name": "c", "resources": GUARANTEED}]}
    pod: JsonObject = {"spec": spec, "status": {"qosClass": "Guaranteed"}}
    for own_if_set, errors in ((True, 0), (False, 1)):
        found: list[FieldError] = []
        validate_pod_resize(pod, pod, found, claims_stay=True, own_if_set=own_if_set)
        assert len(found) == errors
