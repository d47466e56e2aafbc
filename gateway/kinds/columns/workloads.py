"""Columns of workloads: the kinds of the group apps, replication controllers, and disruption budgets."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.kinds.columns.model import (
    AGE,
    NAME,
    NONE,
    Cell,
    Column,
    Columns,
    age,
    column,
    containers,
    integer,
    labels_text,
    name_of,
    part,
    wide,
)
from gateway.kinds.columns.selectors import selector_cell, selector_text

CONTAINERS = (wide("Containers"), wide("Images"))


def _replicated(obj: JsonObject) -> list[Cell]:
    status = part(obj, "status")
    return [
        name_of(obj),
        part(obj, "spec").get("replicas", 0),
        status.get("replicas", 0),
        status.get("readyReplicas", 0),
        age(obj),
        *containers(part(obj, "spec", "template")),
    ]


def _replication_controller(obj: JsonObject) -> list[Cell]:
    return [*_replicated(obj), labels_text(part(obj, "spec").get("selector"))]


def _replica_set(obj: JsonObject) -> list[Cell]:
    return [*_replicated(obj), selector_cell(part(obj, "spec").get("selector"))]


def _daemon_set(obj: JsonObject) -> list[Cell]:
    spec, status = part(obj, "spec"), part(obj, "status")
    return [
        name_of(obj),
        status.get("desiredNumberScheduled", 0),
        status.get("currentNumberScheduled", 0),
        status.get("numberReady", 0),
        status.get("updatedNumberScheduled", 0),
        status.get("numberAvailable", 0),
        labels_text(part(spec, "template", "spec").get("nodeSelector")),
        age(obj),
        *containers(part(spec, "template")),
        selector_cell(spec.get("selector")),
    ]


def _stateful_set(obj: JsonObject) -> list[Cell]:
    return [name_of(obj), _ready(obj), age(obj), *containers(part(obj, "spec", "template"))]


def _deployment(obj: JsonObject) -> list[Cell]:
    spec, status = part(obj, "spec"), part(obj, "status")
    selector = selector_text(spec.get("selector"))
    return [
        name_of(obj),
        _ready(obj),
        status.get("updatedReplicas", 0),
        status.get("availableReplicas", 0),
        age(obj),
        *containers(part(spec, "template")),
        "<invalid>" if selector is None else selector,
    ]


def _ready(obj: JsonObject) -> str:
    return f"{part(obj, 'status').get('readyReplicas', 0)}/{part(obj, 'spec').get('replicas', 0)}"


def _controller_revision(obj: JsonObject) -> list[Cell]:
    owner = next((one for one in obj["metadata"].get("ownerReferences") or () if one.get("controller")), None)
    controller = NONE
    if owner is not None:
        group = owner.get("apiVersion", "").rpartition("/")[0]
        kind = ".".join(filter(None, (owner.get("kind", ""), group))).lower()
        controller = f"{kind}/{owner.get('name', '')}" if kind else owner.get("name", "")
    return [name_of(obj), controller, obj.get("revision", 0), age(obj)]


def _disruption_budget(obj: JsonObject) -> list[Cell]:
    spec = part(obj, "spec")
    return [
        name_of(obj),
        str(spec.get("minAvailable", "N/A")),
        str(spec.get("maxUnavailable", "N/A")),
        part(obj, "status").get("disruptionsAllowed", 0),
        age(obj),
    ]


def _replicas(kind: str) -> tuple[Column, ...]:
    return (
        NAME,
        integer("Desired", f"{kind}Spec.replicas"),
        integer("Current", f"{kind}Status.replicas"),
        integer("Ready", f"{kind}Status.readyReplicas"),
        AGE,
        *CONTAINERS,
        wide("Selector", f"{kind}Spec.selector"),
    )


COLUMNS = {
    ("", "ReplicationController"): Columns(_replicas("core.v1.ReplicationController"), _replication_controller),
    ("apps", "ReplicaSet"): Columns(_replicas("apps.v1.ReplicaSet"), _replica_set),
    ("apps", "DaemonSet"): Columns(
        (
            NAME,
            integer("Desired", "apps.v1.DaemonSetStatus.desiredNumberScheduled"),
            integer("Current", "apps.v1.DaemonSetStatus.currentNumberScheduled"),
            integer("Ready", "apps.v1.DaemonSetStatus.numberReady"),
            integer("Up-to-date", "apps.v1.DaemonSetStatus.updatedNumberScheduled"),
            integer("Available", "apps.v1.DaemonSetStatus.numberAvailable"),
            column("Node Selector", "core.v1.PodSpec.nodeSelector"),
            AGE,
            *CONTAINERS,
            wide("Selector", "apps.v1.DaemonSetSpec.selector"),
        ),
        _daemon_set,
    ),
    ("apps", "StatefulSet"): Columns((NAME, column("Ready"), AGE, *CONTAINERS), _stateful_set),
    ("apps", "Deployment"): Columns(
        (
            NAME,
            column("Ready"),
            column("Up-to-date", "apps.v1.DeploymentStatus.updatedReplicas"),
            column("Available", "apps.v1.DeploymentStatus.availableReplicas"),
            AGE,
            *CONTAINERS,
            wide("Selector", "apps.v1.DeploymentSpec.selector"),
        ),
        _deployment,
    ),
    ("apps", "ControllerRevision"): Columns(
        (NAME, column("Controller"), column("Revision", "apps.v1.ControllerRevision.revision"), AGE),
        _controller_revision,
    ),
    ("policy", "PodDisruptionBudget"): Columns(
        (NAME, column("Min Available"), column("Max Unavailable"), integer("Allowed Disruptions"), AGE),
        _disruption_budget,
    ),
}
