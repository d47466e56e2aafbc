"""Workloads: selectors, strategies, generations, immutable fields, schedules."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from gateway.defaults import apply_defaults
from gateway.http.request_info import RequestInfo
from gateway.http.user import User
from gateway.jsontypes import JsonObject
from gateway.kinds.attributes import Attributes
from gateway.kinds.builtin import builtin_registry
from gateway.kinds.strategies import strategy_for
from gateway.kinds.write_context import WriteContext
from gateway.release.gates import Gates
from gateway.release.minors import DEFAULT
from gateway.validation import cron
from gateway.validation.cron import schedule_error, validate_time_zone

RESOURCE = builtin_registry().resources["apps", "v1", "deployments", ""]
CONTEXT = WriteContext(
    Attributes(User("admin"), RequestInfo("create", "")), RESOURCE, "default", "web", now="2024-01-02T03:04:05Z"
)
TEMPLATE: JsonObject = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "a", "image": "a"}]}}


def made(api_version: str, kind: str, **spec: Any) -> JsonObject:
    meta = {"name": "web", "namespace": "default", "uid": "u-1", "resourceVersion": "1", "generation": 1}
    obj: JsonObject = {"apiVersion": api_version, "kind": kind, "metadata": meta}
    obj["spec"] = {"selector": {"matchLabels": {"app": "web"}}, "template": deepcopy(TEMPLATE), **spec}
    apply_defaults(api_version, kind, obj)
    return obj


def deployment(**spec: Any) -> JsonObject:
    return made("apps/v1", "Deployment", **spec)


def create_errors(resource: str, obj: JsonObject) -> list[str]:
    return [str(error) for error in strategy_for(*resource.split("/")).validate(obj, CONTEXT)]


def update_errors(resource: str, obj: JsonObject, old: JsonObject, minor: str = DEFAULT) -> list[str]:
    strategy = strategy_for(*resource.split("/"), gates=Gates(minor))
    return [str(error) for error in strategy.validate_update(obj, old, CONTEXT)]


def test_a_plain_deployment_is_valid() -> None:
    assert create_errors("apps/deployments", deployment()) == []


@pytest.mark.parametrize(
    ("spec", "error"),
    [
        ({"replicas": -1}, "spec.replicas: Invalid value: -1: must be greater than or equal to 0"),
        (
            {"selector": {"matchLabels": {"app": "db"}}},
            'spec.template.metadata.labels: Invalid value: {"app":"web"}: `selector` does not match template `labels`',
        ),
        ({"selector": {}}, "spec.selector: Invalid value: {}: empty selector is invalid for deployment"),
        (
            {"strategy": {"type": "Bogus"}},
            'spec.strategy: Unsupported value: {"Type":"Bogus","RollingUpdate":null}: supported values: "Recreate", '
            '"RollingUpdate"',
        ),
        (
            {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}},
            "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0",
        ),
        (
            {"minReadySeconds": 600},
            "spec.progressDeadlineSeconds: Invalid value: 600: must be greater than minReadySeconds",
        ),
    ],
)
def test_deployment_faults(spec: JsonObject, error: str) -> None:
    assert error in create_errors("apps/deployments", deployment(**spec))


def test_a_selector_is_immutable() -> None:
    old, new = deployment(), deployment(selector={"matchLabels": {"app": "web", "tier": "x"}})
    new["spec"]["template"]["metadata"]["labels"]["tier"] = "x"
    assert update_errors("apps/deployments", new, old) == [
        'spec.selector: Invalid value: {"matchLabels":{"app":"web","tier":"x"}}: field is immutable'
    ]


def test_generation_counts_changes_of_the_specification() -> None:
    strategy, old = strategy_for("apps", "deployments"), deployment()
    same, other = deepcopy(old), deployment(replicas=5)
    for new in (same, other):
        strategy.prepare_for_update(new, old, CONTEXT)
    assert (same["metadata"]["generation"], other["metadata"]["generation"]) == (1, 2)


def test_a_status_update_leaves_the_specification_alone() -> None:
    strategy, old = strategy_for("apps", "deployments", "status"), deployment()
    new = deployment(replicas=7)
    new["status"] = {"replicas": 3}
    strategy.prepare_for_update(new, old, CONTEXT)
    assert new["spec"] == old["spec"] and new["status"] == {"replicas": 3}


@pytest.mark.parametrize(
    ("minor", "words"),
    [
        ("1.36", "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals'"),
        ("1.37", 'spec.serviceName: Invalid value: "other": field is immutable'),
    ],
)
def test_statefulsets_forbid_most_updates(minor: str, words: str) -> None:
    old, new = made("apps/v1", "StatefulSet"), made("apps/v1", "StatefulSet", serviceName="other")
    (error,) = update_errors("apps/statefulsets", new, old, minor)
    assert error.startswith(words)


def job(**spec: Any) -> JsonObject:
    obj = made("batch/v1", "Job", **spec)
    obj["spec"].pop("selector")
    obj["spec"]["template"]["spec"]["restartPolicy"] = "Never"
    obj["metadata"].pop("labels", None)
    strategy_for("batch", "jobs").prepare_for_create(obj, CONTEXT)
    return obj


def test_a_job_selects_its_own_pods() -> None:
    obj = job()
    assert obj["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": "u-1"}}
    assert obj["spec"]["template"]["metadata"]["labels"] == {
        "app": "web",
        "job-name": "web",
        "batch.kubernetes.io/job-name": "web",
        "controller-uid": "u-1",
        "batch.kubernetes.io/controller-uid": "u-1",
    }
    assert create_errors("batch/jobs", obj) == []


def test_completions_of_a_job_are_immutable() -> None:
    assert update_errors("batch/jobs", job(completions=4), job(completions=2)) == [
        "spec.completions: Invalid value: 4: field is immutable"
    ]


@pytest.mark.parametrize(
    "schedule", ["* * * * *", "*/5 0-6 1,15 jan-mar mon", "@hourly", "@every 1h30m", "0 0 ? * SUN"]
)
def test_schedules(schedule: str) -> None:
    assert schedule_error(schedule) == ""


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
        ("61 * * * *", "end of range (61) above maximum (59): 61"),
        ("5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("x * * * *", 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax'),
        ("@often", "unrecognized descriptor: @often"),
        ("@every 1y", 'failed to parse duration 1y: time: unknown unit "y" in duration "1y"'),
        ("TZ=UTC", "invalid schedule format: runtime error: slice bounds out of range [:-1]"),
    ],
)
def test_schedule_messages(schedule: str, message: str) -> None:
    assert schedule_error(schedule) == message


def test_time_zones() -> None:
    assert validate_time_zone("UTC", "z") == []
    assert [e.body for e in validate_time_zone("a b", "z")] == ['Invalid value: "a b": unknown time zone a b']


def test_a_directory_of_time_zones_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "Zeurope").mkdir()
    (tmp_path / "zone.tab").write_text("no zone")
    monkeypatch.setattr(cron, "TZPATH", (str(tmp_path),))
    told = {"Zeurope": "is a directory", "Europe/Berlin/x": "not a directory"}
    told["zone.tab"] = "malformed time zone information"
    assert {name: cron.location_error(name) for name in told} == told
    assert cron.location_error("Z" * 300) == f"unknown time zone {'Z' * 300}"
