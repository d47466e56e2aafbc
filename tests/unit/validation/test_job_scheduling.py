"""How the pods of a Job are scheduled is judged when the stored object says it.

The expected texts were compared with kube-apiserver 1.37.2, over objects that one with the gate on had stored.
"""

from __future__ import annotations

from typing import Any

import pytest

from gateway.validation.job_scheduling import validate_job_scheduling, validate_job_scheduling_update


@pytest.mark.parametrize(
    ("spec", "error"),
    [
        ({}, ""),
        ({"scheduling": {}}, ""),
        ({"scheduling": {"schedulingPolicy": {"gang": {"minCount": 2}}}, "parallelism": 2}, ""),
        (
            {"scheduling": {"schedulingPolicy": {"gang": {"minCount": 2}}}},
            "s.scheduling.schedulingPolicy.gang.minCount: Invalid value: 2: must not be greater than parallelism (1)",
        ),
        ({"scheduling": {"schedulingPolicy": {"gang": {}}, "disruptionMode": {"all": {}}}}, ""),
        (
            {"scheduling": {"disruptionMode": {"all": {}}}},
            's.scheduling.disruptionMode: Invalid value: "": '
            "the disruptionMode `all` is not supported with the Basic scheduling policy",
        ),
    ],
)
def test_the_scheduling_of_a_job_agrees_with_itself(spec: dict[str, Any], error: str) -> None:
    assert [str(each) for each in validate_job_scheduling(spec, "s")] == [error][: bool(error)]


def test_the_policy_of_a_job_stays_what_it_is() -> None:
    gang, basic = ({"scheduling": {"schedulingPolicy": {name: {}}}} for name in ("gang", "basic"))
    assert validate_job_scheduling_update(gang, gang) == validate_job_scheduling_update({}, gang) == []
    (error,) = validate_job_scheduling_update(basic, gang)
    assert str(error).startswith("spec.scheduling.schedulingPolicy: Invalid value: null: the basic/gang policy variant")
