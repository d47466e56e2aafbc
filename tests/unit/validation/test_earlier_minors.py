"""What an update or create is refused for in a minor and in the one after it, as kube-apiservers of both say it."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from gateway.release.gates import Gates
from gateway.validation.resource_slice import _attribute
from tests.unit.validation.replaying import told

META = {"name": "a", "resourceVersion": "1", "uid": "u"}
BEFORE, AFTER = "1.35", "1.36"
SUSPENDED = {"type": "Suspended", "status": "True"}

Paths = list[tuple[str, str]]


def refused(written: str, sent: Any, old: Any, minor: str, subresource: str = "") -> Paths:
    """The field and message of each cause for which a minor refuses an object."""
    causes = told(written, subresource, deepcopy(sent), deepcopy(old), minor)
    assert isinstance(causes, list), causes
    return [(cause["field"], cause["message"].partition(":")[0]) for cause in causes]


@pytest.mark.parametrize(("minor", "times"), [(BEFORE, 2), (AFTER, 1)])
def test_an_update_of_a_policy_or_csi_node_tells_each_error_as_often_as_the_minor(minor: str, times: int) -> None:
    meta = {**META, "namespace": "default"}
    policy = {"metadata": meta, "spec": {"podSelector": {}, "egress": [{"to": [{}]}], "policyTypes": ["Egress"]}}
    node = {"metadata": META, "spec": {"drivers": [{"name": "a.b", "nodeID": ""}]}}
    asked = [("networking.k8s.io/v1/networkpolicies", policy), ("storage.k8s.io/v1/csinodes", node)]
    assert [len(refused(written, wrong, wrong, minor)) for written, wrong in asked] == [times, times]
    assert [len(refused(written, wrong, None, minor)) for written, wrong in asked] == [1, 1]


@pytest.mark.parametrize(
    ("minor", "handler", "kind"),
    [(BEFORE, "Invalid value", "Unsupported value"), (AFTER, "Required value", "Required value")],
)
def test_a_missing_handler_or_type_is_a_wrong_value_before_1_36(minor: str, handler: str, kind: str) -> None:
    level = {"metadata": META, "spec": {"type": "Limited", "limited": {"limitResponse": {}}}}
    written = "flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations"
    assert refused("node.k8s.io/v1/runtimeclasses", {"metadata": META}, None, minor) == [("handler", handler)]
    assert refused(written, level, None, minor) == [("spec.limited.limitResponse.type", kind)]
    assert refused(written, {"metadata": META, "spec": {}}, None, minor)[0] == ("spec.type", kind)


def attachment(attacher: str, volume: str) -> Any:
    return {
        "metadata": META,
        "spec": {"attacher": attacher, "source": {"persistentVolumeName": volume}, "nodeName": "n"},
    }


def test_an_update_of_an_attachment_does_not_judge_its_names_before_1_36() -> None:
    written = "storage.k8s.io/v1/volumeattachments"
    attacher, volume = "spec.attacher", "spec.source.persistentVolumeName"
    wrong, nameless = attachment("a_b", "B_"), attachment("", "b")
    for old, before in ((None, [(attacher, "Invalid value"), (volume, "Invalid value")]), (wrong, [])):
        assert refused(written, wrong, old, BEFORE) == before
        assert refused(written, wrong, old, AFTER) == [(attacher, "Invalid value"), (volume, "Invalid value")]
    for old, times in ((None, 2), (nameless, 1)):
        assert refused(written, nameless, old, BEFORE) == [(attacher, "Required value")] * times
        assert refused(written, nameless, old, AFTER) == [(attacher, "Required value")]


def job(**pod: Any) -> Any:
    meta = {**META, "namespace": "default", "labels": {"a": "b"}}
    container = {"name": "c", "image": "i", **pod.pop("container", {})}
    spec = {"restartPolicy": "Never", "containers": [container], **pod}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": spec}
    return {
        "metadata": meta,
        "spec": {
            "suspend": True,
            "manualSelector": True,
            "selector": {"matchLabels": {"a": "b"}},
            "template": template,
        },
    }


def test_a_suspended_job_may_not_change_resources_before_1_36() -> None:
    sized, placed = job(container={"resources": {"limits": {"cpu": "1"}}}), job(nodeSelector={"a": "b"})
    named = job()
    named["spec"]["template"]["metadata"]["annotations"] = {"a": "b"}
    for sent, before in ((sized, [("spec.template", "Invalid value")]), (placed, []), (named, [])):
        assert refused("batch/v1/jobs", sent, job(), BEFORE) == before
        assert refused("batch/v1/jobs", sent, job(), AFTER) == []
    other = [refused("batch/v1/jobs", job(hostIPC=True), job(), minor)[0][0] for minor in (BEFORE, AFTER)]
    assert other == ["spec.template", "spec.template.spec"]


def test_a_job_that_started_may_not_be_placed_otherwise_before_1_36() -> None:
    old = {**job(), "status": {"startTime": "2026-01-01T00:00:00Z", "conditions": [SUSPENDED]}}
    assert refused("batch/v1/jobs", job(nodeSelector={"a": "b"}), old, BEFORE) == [("spec.template", "Invalid value")]
    assert refused("batch/v1/jobs", job(nodeSelector={"a": "b"}), old, AFTER) == []


def pod(action: str, **kind: Any) -> Any:
    rule = {"action": action, "exitCodes": {"operator": "In", "values": [1]}}
    container = {"name": "c", "image": "i", "restartPolicyRules": [rule], **kind}
    spec = {"restartPolicy": "Never", "containers": [{"name": "d", "image": "i"}]}
    meta = {**META, "namespace": "default"}
    return {"metadata": meta, "spec": {**spec, "initContainers": [container]}}


def test_rules_may_restart_all_containers_from_1_36_on() -> None:
    wanted = pod("RestartAllContainers", restartPolicy="Never")
    at = "spec.initContainers[0].restartPolicyRules"
    assert refused("v1/pods", wanted, None, BEFORE) == [(f"{at}[0].action", "Unsupported value")]
    assert refused("v1/pods", wanted, None, AFTER) == refused("v1/pods", wanted, wanted, BEFORE) == []
    sidecar = pod("Restart", restartPolicy="Always")
    assert (refused("v1/pods", sidecar, None, BEFORE), refused("v1/pods", sidecar, None, AFTER)) == (
        [(at, "Forbidden")],
        [],
    )


def test_a_constraint_without_an_attribute_lacks_one_of_those_of_the_minor() -> None:
    request = {"name": "a", "exactly": {"deviceClassName": "a"}}
    devices = {"requests": [request], "constraints": [{"requests": ["a"]}]}
    claim = {"metadata": {**META, "namespace": "default"}, "spec": {"devices": devices}}
    found = [refused("resource.k8s.io/v1/resourceclaims", claim, None, minor) for minor in (BEFORE, AFTER)]
    at = "spec.devices.constraints[0]"
    assert found == [[(f"{at}.matchAttribute", "Required value")], [(at, "Required value")]]


@pytest.mark.parametrize(
    "more",
    [
        {"taints": [{"key": "a", "effect": "Never"}]},
        {"bindingConditions": ["a"]},
        {"nodeName": "a"},
        {"capacity": {"m": {"value": "1", "requestPolicy": {"default": "5"}}}},
    ],
)
def test_fields_of_devices_whose_gates_are_off_are_dropped_before_1_36(more: Any) -> None:
    device = {"name": "d", "attributes": {"x": {"int": 1}}, **more}
    pool = {"name": "p", "resourceSliceCount": 1}
    spec = {"driver": "a.b", "pool": pool, "nodeName": "n", "devices": [device]}
    found = [
        refused("resource.k8s.io/v1/resourceslices", {"metadata": META, "spec": spec}, None, minor)
        for minor in (BEFORE, AFTER)
    ]
    assert found[0] == [] and found[1]


def test_an_attribute_with_two_values_is_shown_with_its_lists_from_1_36_on() -> None:
    shown = {"IntValue": 1, "BoolValue": True, "StringValue": None, "VersionValue": None}
    errors = _attribute({"int": 1, "bool": True}, "x")
    told_by = [errors[0].as_told(Gates(minor).enabled).body for minor in (BEFORE, AFTER)]
    assert [str(shown)[:9] in body.replace('"', "'") for body in told_by] == [True, True]
    assert ["IntValues" in body for body in told_by] == [False, True]


@pytest.mark.parametrize(("minor", "last"), [(BEFORE, "WorkloadRef"), (AFTER, "SchedulingGroup")])
def test_a_printed_pod_ends_with_the_field_of_the_minor(minor: str, last: str) -> None:
    old = pod("Restart", restartPolicy="Never")
    new = deepcopy(old)
    new["spec"]["hostname"] = "h"
    new["spec"]["nodeName"] = "n"
    new["spec"]["resourceClaims"] = [{"name": "a", "resourceClaimName": "b"}]
    asked = [("v1/pods", new, old), ("batch/v1/jobs", job(hostIPC=True), job())]
    for written, sent, stored in asked:
        messages = [cause["message"] for cause in told(written, "", deepcopy(sent), stored, minor)]
        assert any(f'"{last}": null' in each or f'"{last}":null' in each for each in messages), messages
