"""Columns of several small kinds: leases, classes, API services, storage versions and migrations, pod groups."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.kinds.columns.configuration import name_and_age
from gateway.kinds.columns.model import (
    AGE,
    NAME,
    NONE,
    UNSET,
    Cell,
    Columns,
    age,
    boolean,
    column,
    first_of,
    integer,
    name_of,
    part,
)


def _lease(obj: JsonObject) -> list[Cell]:
    return [name_of(obj), part(obj, "spec").get("holderIdentity", ""), age(obj)]


def _lease_candidate(obj: JsonObject) -> list[Cell]:
    spec = part(obj, "spec")
    shown = ("leaseName", "binaryVersion", "emulationVersion")
    return [name_of(obj), *[spec.get(name, "") for name in shown], age(obj)]


def _priority_class(obj: JsonObject) -> list[Cell]:
    default, policy = obj.get("globalDefault", False), obj.get("preemptionPolicy", "")
    return [name_of(obj), obj.get("value", 0), default, age(obj), policy]


def _runtime_class(obj: JsonObject) -> list[Cell]:
    return [name_of(obj), obj.get("handler", ""), age(obj)]


def _api_service(obj: JsonObject) -> list[Cell]:
    service = part(obj, "spec").get("service")
    conditions = part(obj, "status").get("conditions") or ()
    available: JsonObject = next((one for one in conditions if one.get("type") == "Available"), {})
    status, reason = available.get("status", "Unknown"), available.get("reason")
    return [
        name_of(obj),
        "Local" if service is None else f"{service.get('namespace', '')}/{service.get('name', '')}",
        f"{status} ({reason})" if reason and status != "True" else status,
        age(obj),
    ]


def _storage_version(obj: JsonObject) -> list[Cell]:
    status = part(obj, "status")
    versions = status.get("storageVersions") or ()
    texts = [f"{one.get('apiServerID', '')}={one.get('encodingVersion', '')}" for one in versions[:3]]
    return [name_of(obj), status.get("commonEncodingVersion", UNSET), first_of(texts, len(versions)), age(obj)]


def _migration(obj: JsonObject) -> list[Cell]:
    resource, status = part(obj, "spec", "resource"), "Unknown"
    for condition in part(obj, "status").get("conditions") or ():
        if condition.get("status") == "True" and condition.get("type") in ("Running", "Failed", "Succeeded"):
            status = condition["type"]
    shown = ".".join(filter(None, (resource.get("resource", ""), resource.get("group", ""))))
    return [name_of(obj), shown, status]


def _pod_group(obj: JsonObject) -> list[Cell]:
    spec, status = part(obj, "spec"), "Pending"
    conditions = {one.get("type"): one for one in part(obj, "status").get("conditions") or ()}
    if (scheduled := conditions.get("PodGroupScheduled")) is not None:
        status = "Scheduled" if scheduled.get("status") == "True" else "Unschedulable"
    if (disrupted := conditions.get("DisruptionTarget")) is not None:
        status = disrupted.get("reason", "")
    gang = part(spec, "schedulingPolicy").get("gang") is not None
    template = spec.get("podGroupTemplateRef")
    workload = NONE if template is None else part(template, "workload").get("workloadName", "")
    return [name_of(obj), "Gang" if gang else "Basic", workload, status, age(obj)]


_STORAGE_VERSION = "apiserverinternal.v1alpha1.StorageVersionStatus"
COLUMNS = {
    ("coordination.k8s.io", "Lease"): Columns(
        (NAME, column("Holder", "coordination.v1.LeaseSpec.holderIdentity"), AGE), _lease
    ),
    ("coordination.k8s.io", "LeaseCandidate"): Columns(
        (
            NAME,
            column("LeaseName", "coordination.v1alpha2.LeaseCandidateSpec.leaseName"),
            column("BinaryVersion"),
            column("EmulationVersion"),
            AGE,
        ),
        _lease_candidate,
    ),
    ("scheduling.k8s.io", "PriorityClass"): Columns(
        (
            NAME,
            integer("Value", "scheduling.v1.PriorityClass.value"),
            boolean("Global-Default", "scheduling.v1.PriorityClass.globalDefault"),
            AGE,
            column("PreemptionPolicy", "scheduling.v1.PriorityClass.preemptionPolicy"),
        ),
        _priority_class,
    ),
    ("scheduling.k8s.io", "Workload"): Columns((NAME, AGE), name_and_age),
    ("scheduling.k8s.io", "PodGroup"): Columns(
        (
            NAME,
            column("Policy", "scheduling.v1alpha2.PodGroupSpec.schedulingPolicy"),
            column("Workload"),
            column("Status"),
            AGE,
        ),
        _pod_group,
    ),
    ("node.k8s.io", "RuntimeClass"): Columns((NAME, column("Handler"), AGE), _runtime_class),
    ("apiregistration.k8s.io", "APIService"): Columns(
        (NAME, column("Service"), column("Available"), AGE), _api_service
    ),
    ("internal.apiserver.k8s.io", "StorageVersion"): Columns(
        (
            NAME,
            column("CommonEncodingVersion", f"{_STORAGE_VERSION}.commonEncodingVersion"),
            column("StorageVersions", f"{_STORAGE_VERSION}.storageVersions"),
            AGE,
        ),
        _storage_version,
    ),
    ("storagemigration.k8s.io", "StorageVersionMigration"): Columns(
        (NAME._replace(format=""), column("Resource"), column("Status")), _migration
    ),
}
