"""Workload controllers: counts, histories and update strategies."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.defaults import apply_defaults

TEMPLATE = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "a", "image": "a:1"}]}}


def spec_of(api_version: str, kind: str, **spec: Any) -> dict[str, Any]:
    obj = {"metadata": {"name": "a"}, "spec": {"template": {"spec": {"containers": []}}, **spec}}
    apply_defaults(api_version, kind, obj)
    result: dict[str, Any] = obj["spec"]
    del result["template"]
    return result


ROLLING = {"maxUnavailable": "25%", "maxSurge": "25%"}


@pytest.mark.parametrize(
    ("given", "settled"),
    [
        ({}, {"type": "RollingUpdate", "rollingUpdate": ROLLING}),
        ({"type": "Recreate"}, {"type": "Recreate"}),
        (
            {"rollingUpdate": {"maxSurge": 0}},
            {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": "25%"}},
        ),
    ],
)
def test_deployment(given: dict[str, Any], settled: dict[str, Any]) -> None:
    assert spec_of("apps/v1", "Deployment", strategy=given) == {
        "replicas": 1,
        "revisionHistoryLimit": 10,
        "progressDeadlineSeconds": 600,
        "strategy": settled,
    }


@pytest.mark.parametrize(
    ("given", "settled"),
    [
        ({}, {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}}),
        ({"type": "OnDelete"}, {"type": "OnDelete"}),
    ],
)
def test_daemon_set(given: dict[str, Any], settled: dict[str, Any]) -> None:
    assert spec_of("apps/v1", "DaemonSet", updateStrategy=given) == {
        "revisionHistoryLimit": 10,
        "updateStrategy": settled,
    }


@pytest.mark.parametrize(
    ("given", "settled"),
    [
        ({}, {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}),
        ({"type": "RollingUpdate"}, {"type": "RollingUpdate"}),
        ({"type": "RollingUpdate", "rollingUpdate": {}}, {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}),
        ({"type": "OnDelete"}, {"type": "OnDelete"}),
    ],
)
def test_stateful_set(given: dict[str, Any], settled: dict[str, Any]) -> None:
    assert spec_of("apps/v1", "StatefulSet", updateStrategy=given) == {
        "replicas": 1,
        "revisionHistoryLimit": 10,
        "podManagementPolicy": "OrderedReady",
        "updateStrategy": settled,
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
    }


def test_claims_of_a_stateful_set_are_whole_claims() -> None:
    spec = spec_of("apps/v1", "StatefulSet", volumeClaimTemplates=[{"metadata": {"name": "data"}, "spec": {}}])
    assert spec["volumeClaimTemplates"] == [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "data"},
            "spec": {"volumeMode": "Filesystem"},
            "status": {"phase": "Pending"},
        }
    ]


def test_replicas_of_zero_are_kept() -> None:
    assert spec_of("apps/v1", "ReplicaSet", replicas=0) == {"replicas": 0}


@pytest.mark.parametrize(("given", "settled"), [("007", {"deprecated.deployment.rollback.to": "7"}), ("", None)])
def test_the_rollback_annotation_holds_a_number_or_is_not_there(given: str, settled: object) -> None:
    obj: dict[str, Any] = {"metadata": {"annotations": {"deprecated.deployment.rollback.to": given}}, "spec": {}}
    apply_defaults("apps/v1", "Deployment", obj)
    assert obj["metadata"].get("annotations") == settled


def test_a_replication_controller_takes_selector_and_labels_from_its_template() -> None:
    obj: dict[str, Any] = {"metadata": {"name": "a"}, "spec": {"template": TEMPLATE}}
    apply_defaults("v1", "ReplicationController", obj)
    assert obj["metadata"]["labels"] == obj["spec"]["selector"] == {"app": "a"}
    assert obj["spec"]["replicas"] == 1


JOB = {
    "completionMode": "NonIndexed",
    "suspend": False,
    "manualSelector": False,
    "backoffLimit": 6,
    "podReplacementPolicy": "TerminatingOrFailed",
}


@pytest.mark.parametrize(
    ("given", "more"),
    [
        ({}, {"completions": 1, "parallelism": 1}),
        ({"parallelism": 3}, {"parallelism": 3}),
        ({"completions": 3}, {"completions": 3, "parallelism": 1}),
        ({"backoffLimitPerIndex": 1, "completions": 2}, {"parallelism": 1, "backoffLimit": 2147483647}),
        ({"backoffLimit": 0, "parallelism": 0}, {"backoffLimit": 0, "parallelism": 0}),
    ],
)
def test_job(given: dict[str, Any], more: dict[str, Any]) -> None:
    assert spec_of("batch/v1", "Job", **given) == {**JOB, **given, **more}


def test_a_job_with_a_failure_policy_replaces_failed_pods_only() -> None:
    policy = {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "X"}]}]}
    spec = spec_of("batch/v1", "Job", podFailurePolicy=policy)
    assert spec["podReplacementPolicy"] == "Failed"
    assert spec["podFailurePolicy"]["rules"][0]["onPodConditions"] == [{"type": "X", "status": "True"}]


def test_a_job_takes_its_labels_from_its_template_unless_it_has_some() -> None:
    bare: dict[str, Any] = {"metadata": {}, "spec": {"template": TEMPLATE}}
    labelled: dict[str, Any] = {"metadata": {"labels": {"x": "y"}}, "spec": {"template": TEMPLATE}}
    apply_defaults("batch/v1", "Job", bare)
    apply_defaults("batch/v1", "Job", labelled)
    assert bare["metadata"]["labels"] == {"app": "a"}
    assert labelled["metadata"]["labels"] == {"x": "y"}


def test_a_cron_job_leaves_the_counts_to_the_jobs_it_makes() -> None:
    obj: dict[str, Any] = {"metadata": {}, "spec": {"jobTemplate": {"spec": {"template": TEMPLATE}}}}
    apply_defaults("batch/v1", "CronJob", obj)
    assert set(obj["spec"].pop("jobTemplate")["spec"]) == {"template"}
    assert obj["spec"] == {
        "concurrencyPolicy": "Allow",
        "suspend": False,
        "successfulJobsHistoryLimit": 3,
        "failedJobsHistoryLimit": 1,
    }
