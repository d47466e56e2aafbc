"""Defaults of the workloads in the apps group.

Source: Kubernetes API reference, DeploymentSpec, ReplicaSetSpec, StatefulSetSpec, DaemonSetSpec.
"""

from __future__ import annotations

from gateway.defaults.pod_spec import TEMPLATE
from gateway.defaults.registry import Defaulters
from gateway.defaults.table import Rule, compile_table
from gateway.defaults.volumes import PERSISTENT_VOLUME_CLAIM
from gateway.jsontypes import JsonObject
from gateway.schema.integers import int64


def _rolling_update(**limits: int | str) -> Rule:
    """The rule for an update strategy: one of the type RollingUpdate gets those of `limits` that are not set."""
    fill = compile_table({"rollingUpdate+": compile_table({f"{name}?": value for name, value in limits.items()})})

    def apply(strategy: JsonObject) -> None:
        if strategy["type"] == "RollingUpdate":
            fill(strategy)

    return apply


def _template_generation(daemon_set: JsonObject) -> None:
    """Sets the annotation that holds templateGeneration, a field that apps/v1 no longer has."""
    annotations = daemon_set["metadata"].setdefault("annotations", {})
    annotations.setdefault("deprecated.daemonset.template.generation", "0")


def _stateful_update(strategy: JsonObject) -> None:
    """The rule for a stateful set's update strategy: an explicit RollingUpdate without parameters gets none."""
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
        strategy.setdefault("rollingUpdate", {})
    if strategy["type"] == "RollingUpdate" and strategy.get("rollingUpdate") is not None:
        strategy["rollingUpdate"].setdefault("partition", 0)


def _with_unavailable(stateful_set: JsonObject) -> None:
    """MaxUnavailableStatefulSet: a rolling update gets the default of maxUnavailable."""
    DEFAULTERS["apps/v1", "StatefulSet"](stateful_set)
    strategy = stateful_set["spec"]["updateStrategy"]
    if strategy["type"] == "RollingUpdate" and strategy.get("rollingUpdate") is not None:
        strategy["rollingUpdate"].setdefault("maxUnavailable", 1)


def _claim_kind(claim: JsonObject) -> None:
    claim["apiVersion"] = "v1"
    claim["kind"] = "PersistentVolumeClaim"


_ROLLBACK = "deprecated.deployment.rollback.to"


def _rollback_annotation(metadata: JsonObject) -> None:
    """Normalises the annotation of the rollback revision, a field that apps/v1 no longer has.

    A number is written in its canonical form, and an empty text is dropped; any other text stays.
    """
    annotations = metadata.get("annotations")
    if not annotations or _ROLLBACK not in annotations:
        return
    revision = annotations[_ROLLBACK]
    if (number := int64(revision)) is not None:
        annotations[_ROLLBACK] = str(number)
    elif not revision:
        del annotations[_ROLLBACK]
        if not annotations:
            del metadata["annotations"]


DEFAULTERS: Defaulters = {
    ("apps/v1", "Deployment"): compile_table(
        {
            "metadata": _rollback_annotation,
            "spec+.replicas?": 1,
            "spec+.revisionHistoryLimit?": 10,
            "spec+.progressDeadlineSeconds?": 600,
            "spec+.strategy+.type": "RollingUpdate",
            "spec+.strategy+": _rolling_update(maxUnavailable="25%", maxSurge="25%"),
            "spec+.template+": TEMPLATE,
        }
    ),
    ("apps/v1", "ReplicaSet"): compile_table({"spec+.replicas?": 1, "spec+.template+": TEMPLATE}),
    ("apps/v1", "DaemonSet"): compile_table(
        {
            "spec+.revisionHistoryLimit?": 10,
            "spec+.updateStrategy+.type": "RollingUpdate",
            "spec+.updateStrategy+": _rolling_update(maxUnavailable=1, maxSurge=0),
            "spec+.template+": TEMPLATE,
        },
        _template_generation,
    ),
    ("apps/v1", "StatefulSet"): compile_table(
        {
            "spec+.replicas?": 1,
            "spec+.revisionHistoryLimit?": 10,
            "spec+.podManagementPolicy": "OrderedReady",
            "spec+.updateStrategy+": _stateful_update,
            "spec+.persistentVolumeClaimRetentionPolicy+.whenDeleted": "Retain",
            "spec+.persistentVolumeClaimRetentionPolicy+.whenScaled": "Retain",
            "spec+.template+": TEMPLATE,
            "spec+.volumeClaimTemplates[]": compile_table({}, _claim_kind, PERSISTENT_VOLUME_CLAIM),
        }
    ),
}

GATED: Defaulters = {("apps/v1", "StatefulSet"): _with_unavailable}
