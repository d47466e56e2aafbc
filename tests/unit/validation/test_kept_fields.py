"""Rules of fields that only a server with their gates on stores: they are judged when the stored object has them.

The expected texts were compared with kube-apiserver 1.37.2, over objects that one with the gates on had stored.
"""

from __future__ import annotations

from typing import Any

import pytest

from gateway.validation.job_scheduling import validate_job_scheduling, validate_job_scheduling_update
from gateway.validation.stop_signal import validate_stop_signal
from gateway.validation.volume_health import validate_pod_volume_health


@pytest.mark.parametrize(
    ("signal", "system", "error"),
    [
        ("SIGTERM", "linux", ""),
        ("SIGRTMIN+15", "linux", ""),
        ("SIGRTMAX-14", "linux", ""),
        ("SIGRTMIN+16", "linux", 'Unsupported value: "SIGRTMIN+16": supported values: "SIGABRT", "SIGALRM", "SIGBUS"'),
        ("SIGKILL", "windows", ""),
        ("SIGHUP", "windows", 'Unsupported value: "SIGHUP": supported values: "SIGKILL", "SIGTERM"'),
        ("any", "mac", ""),
        ("SIGTERM", None, "Forbidden: may not be set for containers with empty `spec.os.name`"),
    ],
)
def test_a_stop_signal_depends_on_the_operating_system(signal: str, system: str | None, error: str) -> None:
    found = list(map(str, validate_stop_signal(signal, system, "p")))
    assert bool(found) == bool(error)
    assert all(each.startswith(f"p: {error}") for each in found)


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


def test_reports_of_health_are_of_the_pods_volumes_and_have_reasons_as_conditions_have() -> None:
    spec = {"volumes": [{"name": "v"}]}
    reports = [{"name": "v", "healthConditions": [{"reason": "a b"}, {"reason": "Ab"}]}, {"name": "w"}]
    first, second = map(str, validate_pod_volume_health(reports, spec))
    assert first.startswith('status.volumeHealth[0].healthConditions[0].reason: Invalid value: "a b": a condition')
    assert second == 'status.volumeHealth[1].name: Not found: "w"'
