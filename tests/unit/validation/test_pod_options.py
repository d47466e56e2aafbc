"""Rules that 1.37 has changed: what a write is told in both minors."""

from __future__ import annotations

from copy import deepcopy
from types import SimpleNamespace
from typing import Any

import pytest

from gateway.http.status import StatusError
from gateway.release.gates import Gates
from gateway.subresources.attestations import judged_with_attestations
from gateway.subresources.binding import _check_target
from gateway.subresources.eviction import _take_one
from gateway.validation.field import invalid
from tests.unit.validation.replaying import told

Json = dict[str, Any]
MINORS = ("1.36", "1.37")
CONTAINER: Json = {"name": "c", "image": "i"}


def pod(spec: Json | None = None, status: Json | None = None) -> Json:
    obj: Json = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default"}}
    return {**obj, "spec": {"containers": [CONTAINER], **(spec or {})}, "status": status or {}}


def template(spec: Json) -> Json:
    obj: Json = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "t", "namespace": "default"}}
    return {**obj, "template": {"spec": {"containers": [CONTAINER], **spec}}}


def stored(obj: Json) -> Json:
    return {**deepcopy(obj), "metadata": {**obj["metadata"], "uid": "u", "resourceVersion": "1"}}


def causes(resource: str, sent: Json, old: Json | None = None, subresource: str = "") -> list[list[str]]:
    """The field and message of each cause, for each minor."""
    if old is not None:
        sent, old = stored(sent), stored(old)
    found = [told(resource, subresource, sent, old, minor) for minor in MINORS]
    return [[f"{each['field']}: {each['message']}" for each in one] for one in found]


def test_processes_cannot_be_shared_with_the_host_wherever_that_is_said() -> None:
    before, now = causes("v1/pods", pod({"shareProcessNamespace": True, "hostPID": True}))
    assert [each.partition(":")[0] for each in before] == ["spec.securityContext.shareProcessNamespace"]
    assert [each.partition(":")[0] for each in now] == ["spec.shareProcessNamespace"]


def test_fields_of_the_host_come_after_those_of_a_windows_pods_security_context() -> None:
    spec = {"os": {"name": "windows"}, "hostUsers": True, "securityContext": {"runAsUser": 1, "fsGroup": 1}}
    before, now = ([each.partition(":")[0] for each in one] for one in causes("v1/pods", pod(spec)))
    assert before == ["spec.hostUsers", "spec.securityContext.fsGroup", "spec.securityContext.runAsUser"]
    assert now == ["spec.securityContext.fsGroup", "spec.securityContext.runAsUser", "spec.hostUsers"]


def test_templates_need_references_of_image_volumes_unless_the_stored_one_lacks_them() -> None:
    empty = {"volumes": [{"name": "v", "image": {}}]}
    required = ["template.spec.volumes[0].image.reference: Required value"]
    assert causes("v1/podtemplates", template(empty)) == [[], required]
    assert causes("v1/podtemplates", template(empty), template(empty)) == [[], []]
    assert causes("v1/podtemplates", template(empty), template({})) == [[], required]


def test_a_pod_without_a_reference_of_an_image_volume_can_be_updated() -> None:
    empty = pod({"volumes": [{"name": "v", "image": {}}]})
    changed = deepcopy(empty)
    changed["spec"]["containers"][0] = {**CONTAINER, "image": "other"}
    before, now = causes("v1/pods", changed, empty)
    assert before == ["spec.volumes[0].image.reference: Required value"] and now == []


def test_an_administrator_without_escalation_can_be_updated() -> None:
    context = {"allowPrivilegeEscalation": False, "capabilities": {"add": ["CAP_SYS_ADMIN"]}}
    old = pod({"containers": [{**CONTAINER, "securityContext": context}]})
    assert [len(each) for each in causes("v1/pods", old)] == [1, 1]
    changed = pod({"containers": [{**CONTAINER, "image": "other", "securityContext": context}]})
    assert [len(each) for each in causes("v1/pods", changed, old)] == [1, 0]


def test_pods_may_ask_for_mount_options_of_selinux_once_the_gate_is_on() -> None:
    asked = {"securityContext": {"seLinuxChangePolicy": "MountOption"}}
    assert [len(each) for each in causes("v1/pods", pod(asked))] == [1, 0]


@pytest.mark.parametrize(("uid", "refused"), [(2**31, (True, False)), (2**32, (True, True)), (-1, (True, True))])
def test_a_container_may_run_as_any_user_of_linux(uid: int, refused: tuple[bool, bool]) -> None:
    running = {"name": "c", "ready": True, "image": "i", "imageID": "i", "user": {"linux": {"uid": uid, "gid": 1}}}
    sent = pod(status={"containerStatuses": [running]})
    assert tuple(map(bool, causes("v1/pods", sent, pod(), "status"))) == refused


def test_health_may_be_of_the_claim_for_extended_resources() -> None:
    spec = {"containers": [{**CONTAINER, "resources": {"requests": {"a.b/c": "1"}, "limits": {"a.b/c": "1"}}}]}
    mapping = {"containerName": "c", "requestName": "r", "resourceName": "a.b/c"}
    health = {"name": "claim:d/r", "resources": [{"resourceID": "x", "health": "Healthy"}]}
    running = {"name": "c", "ready": True, "image": "i", "imageID": "i", "allocatedResourcesStatus": [health]}
    status = {
        "containerStatuses": [running],
        "extendedResourceClaimStatus": {"resourceClaimName": "d", "requestMappings": [mapping]},
    }
    assert [len(each) for each in causes("v1/pods", pod(spec, status), pod(spec), "status")] == [1, 0]
    health["name"] = "claim:d/other"
    before, now = causes("v1/pods", pod(spec, status), pod(spec), "status")
    assert "in a format 'claim:<claimName>/<request>'" in before[0] and "as 'claim:<claimName>/<requestName>'" in now[0]


def test_a_job_may_be_updated_to_be_selected_by_hand() -> None:
    spec = {"template": {"spec": {"containers": [CONTAINER], "restartPolicy": "Never"}}}
    labels = {"a": "b"}
    spec["template"]["metadata"] = {"labels": labels}  # type: ignore[assignment]
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": "default"}}
    old = {**job, "spec": {**spec, "selector": {"matchLabels": labels}, "manualSelector": True}}
    sent = {**job, "spec": {**spec, "selector": {"matchLabels": labels}}}
    before, now = causes("batch/v1/jobs", sent, old)
    assert before and now == []


def test_a_claim_of_a_stateful_set_is_shown_where_it_is_immutable() -> None:
    claim = {"metadata": {"name": "v"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {}}}}
    labels = {"a": "b"}
    spec = {
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [CONTAINER]}},
        "serviceName": "s",
    }
    obj = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "s", "namespace": "default"}}
    old, sent = {**obj, "spec": {**spec, "volumeClaimTemplates": [claim]}}, {**obj, "spec": {**spec}}
    sent["spec"]["volumeClaimTemplates"] = [{**claim, "metadata": {"name": "w"}}]
    _, now = causes("apps/v1/statefulsets", sent, old)
    assert len(now) == 1
    assert now[0].startswith('spec.volumeClaimTemplates: Invalid value: [{"name":"w","Spec":{"AccessModes":["Read')
    assert '"HealthStatus":null}}]' in now[0]


def test_another_provider_of_a_node_is_told_in_other_words() -> None:
    node: Json = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "spec": {"providerID": "a"}}
    for spec, text in (({"providerID": "b"}, "modified"), ({}, "cleared")):
        before, now = causes("v1/nodes", {**node, "spec": spec}, node)
        assert before == ['spec.providerID: Forbidden: node updates may not change providerID except from "" to valid']
        assert now == [f"spec.providerID: Invalid value: null: field cannot be {text} once set"]


def test_an_end_port_below_the_port_is_shown() -> None:
    policy = {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "p"}}
    sent = {**policy, "spec": {"podSelector": {}, "ingress": [{"ports": [{"port": 80, "endPort": 1}]}]}}
    found = causes("networking.k8s.io/v1/networkpolicies", sent)
    assert [each[0].split(": ")[2] for each in found] == ["80", "1"]


def test_a_condition_lacks_its_type_and_its_status() -> None:
    budget: Json = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "spec": {}}
    budget["metadata"] = {"name": "b", "namespace": "default"}
    whole = {"type": "a", "status": "True", "lastTransitionTime": "2020-01-01T00:00:00Z", "reason": "A", "message": ""}
    counts = dict.fromkeys(("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"), 0)
    sent = {**budget, "status": {**counts, "conditions": [whole, whole, {**whole, "type": "", "status": ""}]}}
    _, now = causes("policy/v1/poddisruptionbudgets", sent, budget, "status")
    assert now == [
        'status.conditions[1]: Duplicate value: "a"',
        "status.conditions[2].type: Required value: is required",
        "status.conditions[2].status: Required value",
    ]


def test_a_binding_names_a_node_as_a_node_can_be_named() -> None:
    _check_target("p", {"name": "Bad_Name"}, named=False)
    _check_target("p", {"name": "good.name"}, named=True)
    with pytest.raises(StatusError, match="Invalid value"):
        _check_target("p", {"name": "Bad_Name"}, named=True)


@pytest.mark.parametrize(
    ("state", "why"),
    [
        ({"disruptionsAllowed": -1}, "pdb disruptions allowed is negative"),
        (
            {"disruptionsAllowed": 1, "disruptedPods": {str(i): "" for i in range(2001)}},
            "too many pending evictions not confirmed by PDB controller",
        ),
    ],
)
def test_an_eviction_that_a_broken_budget_forbids_has_a_cause(state: Json, why: str) -> None:
    found = []
    for minor in MINORS:
        context: Any = SimpleNamespace(enabled=Gates(minor).enabled, name="p", now="")
        with pytest.raises(StatusError) as error:
            _take_one({"metadata": {"name": "b"}, "status": state}, context, record=False)
        found.append((error.value.details or {}).get("causes"))
    cause = f"The disruption budget b does not allow evicting pods currently: {why}"
    assert found == [None, [{"reason": "DisruptionBudget", "message": cause}]]


WEBHOOK = {"kind": "MutatingWebhookConfiguration", "apiVersion": "admissionregistration.k8s.io/v1", "name": "w"}
GROUPS = "admissionReviewAPIGroups"


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        ({}, ["other"]),
        ({"attestations": {GROUPS: ["a"]}}, ["spec.attestations"]),
        ({"boundObjectRef": WEBHOOK, "audiences": ["a"]}, ["other", "spec.attestations"]),
        ({"boundObjectRef": WEBHOOK, "attestations": {GROUPS: ["*"]}}, ["other", "spec.audiences"]),
        ({"boundObjectRef": WEBHOOK, "audiences": ["a"], "attestations": {GROUPS: ["apps"]}}, ["other"]),
        (
            {"boundObjectRef": WEBHOOK, "audiences": ["a"], "attestations": {GROUPS: ["A_"]}},
            ["other", f"spec.attestations[{GROUPS}][0]"],
        ),
        (
            {"boundObjectRef": WEBHOOK, "audiences": ["a"], "attestations": {GROUPS: []}},
            ["other", f"spec.attestations[{GROUPS}]"],
        ),
        (
            {"boundObjectRef": WEBHOOK, "audiences": ["a"], "attestations": {"x": ["a"]}},
            ["other", "spec.attestations[x]"],
        ),
    ],
)
def test_only_a_token_for_a_webhook_attests(spec: Json, found: list[str]) -> None:
    assert [each.field for each in judged_with_attestations(spec, [invalid("other", 1, "")])] == found
