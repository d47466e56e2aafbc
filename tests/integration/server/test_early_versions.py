"""Beta versions that --runtime-config switches on: written, read, watched and applied beside v1."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from apiserver_gateway.testing import ApiServer
from tests.forked import api_server
from tests.integration.server.client import ask

ADMISSION, CLASSES = "admissionregistration.k8s.io", "/apis/resource.k8s.io/{}/deviceclasses"
_NEEDED = "spec.emulationVersion: Required value: must be specified when `strategy` is 'OldestEmulationVersion'"
DRIVER = {"selectors": [{"cel": {"expression": 'device.driver == "a"'}}]}


@pytest.fixture(scope="module")
def server() -> Iterator[ApiServer]:
    with api_server("--runtime-config=api/beta=true") as made:
        yield made


def test_an_object_is_written_in_one_version_and_read_in_the_other(server: ApiServer) -> None:
    made = ask(server, "POST", CLASSES.format("v1beta2"), {"metadata": {"name": "early"}, "spec": DRIVER})
    assert made.status == 201 and made.json["apiVersion"] == "resource.k8s.io/v1beta2"
    deprecated = '299 - "resource.k8s.io/v1beta2 DeviceClass is deprecated in v1.36+, unavailable in v1.39+"'
    assert made.headers["warning"] == deprecated
    read = ask(server, "GET", CLASSES.format("v1") + "/early")
    assert "warning" not in read.headers
    assert {**read.json, "apiVersion": "resource.k8s.io/v1beta2"} == made.json
    listed = ask(server, "GET", CLASSES.format("v1beta2")).json
    assert listed["kind"] == "DeviceClassList" and listed["apiVersion"] == "resource.k8s.io/v1beta2"


def test_rules_and_defaults_are_those_of_v1(server: ApiServer) -> None:
    claims = "/apis/resource.k8s.io/v1beta2/namespaces/default/resourceclaims"
    requests = [{"name": "r", "exactly": {"deviceClassName": "c"}}]
    made = ask(server, "POST", claims, {"metadata": {"name": "a"}, "spec": {"devices": {"requests": requests}}})
    assert made.json["spec"]["devices"]["requests"][0]["exactly"]["allocationMode"] == "ExactCount"
    requests[0]["exactly"] = {}
    refused = ask(server, "POST", claims, {"metadata": {"name": "b"}, "spec": {"devices": {"requests": requests}}})
    assert refused.status == 422
    assert "spec.devices.requests[0].exactly.deviceClassName: Required value" in refused.json["message"]


def test_discovery_has_them_after_v1_with_an_api_service(server: ApiServer) -> None:
    group = ask(server, "GET", "/apis/resource.k8s.io").json
    assert [each["version"] for each in group["versions"]] == ["v1", "v1beta2"]
    assert group["preferredVersion"]["version"] == "v1"
    service = ask(server, "GET", "/apis/apiregistration.k8s.io/v1/apiservices/v1beta2.resource.k8s.io").json
    assert (service["spec"]["groupPriorityMinimum"], service["spec"]["versionPriority"]) == (16200, 15)


def test_a_policy_of_the_beta_version_has_effect(server: ApiServer) -> None:
    assert _labels_by_a_policy(server) == {"set": "here"}


def test_under_a_minor_without_v1_the_gate_gives_it_the_effect() -> None:
    on, gate = f"--runtime-config={ADMISSION}/v1beta1=true", "--feature-gates=MutatingAdmissionPolicy=true"
    with api_server("--kubernetes-version=1.35", on, gate) as made:
        assert _labels_by_a_policy(made) == {"set": "here"}
        assert ask(made, "GET", f"/apis/{ADMISSION}/v1/mutatingadmissionpolicies").status == 404


def _labels_by_a_policy(server: ApiServer) -> object:
    """The labels that a new ConfigMap has after a policy was written in the beta version."""
    policies = f"/apis/{ADMISSION}/v1beta1/mutatingadmissionpolicies"
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    expression = 'Object{metadata: Object.metadata{labels: {"set": "here"}}}'
    spec = {
        "matchConstraints": {"resourceRules": [rule]},
        "reinvocationPolicy": "Never",
        "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}],
    }
    assert ask(server, "POST", policies, {"metadata": {"name": "p"}, "spec": spec}).status == 201
    binding = {"metadata": {"name": "p"}, "spec": {"policyName": "p"}}
    assert ask(server, "POST", policies.replace("policies", "policybindings"), binding).status == 201
    made = ask(server, "POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "a"}})
    return made.json["metadata"].get("labels")


def test_a_kind_without_v1_is_written_in_each_of_its_versions(server: ApiServer) -> None:
    candidates = "/apis/coordination.k8s.io/{}/namespaces/default/leasecandidates"
    spec = {
        "leaseName": "l",
        "binaryVersion": "1.2.3",
        "emulationVersion": "1.2.0",
        "strategy": "OldestEmulationVersion",
    }
    made = ask(server, "POST", candidates.format("v1beta1"), {"metadata": {"name": "a"}, "spec": spec})
    assert made.status == 201 and made.json["spec"] == spec
    deprecated = '299 - "coordination.k8s.io/v1beta1 LeaseCandidate is deprecated in v1.36+, unavailable in v1.39+"'
    assert made.headers["warning"] == deprecated
    assert (
        ask(server, "GET", candidates.format("v1alpha2") + "/a").status == 404
    )  # api/beta names the beta version alone
    spec |= {"leaseName": "other", "binaryVersion": "1.0.0"}
    refused = ask(server, "PUT", candidates.format("v1beta1") + "/a", {**made.json, "spec": spec})
    assert [(each["field"], each["message"]) for each in refused.json["details"]["causes"]] == [
        ("spec.binaryVersion", 'Invalid value: "1.0.0": must be greater than or equal to `emulationVersion`'),
        ("spec.leaseName", 'Invalid value: "other": field is immutable'),
    ]


@pytest.mark.parametrize(
    ("changes", "causes"),
    [
        ({"leaseName": ""}, ["spec.leaseName: Required value"]),
        ({"binaryVersion": ""}, ["spec.binaryVersion: Required value"]),
        (
            {"emulationVersion": "v1"},
            ['spec.emulationVersion: Invalid value: "v1": must be a valid semantic version', _NEEDED],
        ),
        ({"emulationVersion": ""}, [_NEEDED]),
        ({"strategy": ""}, ["spec.strategy: Required value"]),
        (
            {"strategy": "Odd"},
            ['spec.strategy.strategy: Unsupported value: "Odd": supported values: "OldestEmulationVersion"'],
        ),
    ],
)
def test_a_faulty_candidate_is_refused(server: ApiServer, changes: dict[str, str], causes: list[str]) -> None:
    """As kube-apiserver 1.37.2 refuses them."""
    spec = {
        "leaseName": "l",
        "binaryVersion": "1.2.3",
        "emulationVersion": "1.2.0",
        "strategy": "OldestEmulationVersion",
    }
    body = {"metadata": {"name": "faulty"}, "spec": spec | changes}
    refused = ask(server, "POST", "/apis/coordination.k8s.io/v1beta1/namespaces/default/leasecandidates", body)
    assert refused.status == 422
    assert [f"{each['field']}: {each['message']}" for each in refused.json["details"]["causes"]] == causes


def test_an_apply_in_each_version_owns_its_fields_in_that_version(server: ApiServer) -> None:
    def applied(version: str, manager: str, labels: dict[str, str]) -> dict[str, object]:
        body = {"apiVersion": f"resource.k8s.io/{version}", "kind": "DeviceClass"}
        body |= {"metadata": {"name": "both", "labels": labels}, "spec": DRIVER}
        path = f"{CLASSES.format(version)}/both?fieldManager={manager}"
        answer = ask(server, "PATCH", path, body, headers={"Content-Type": "application/apply-patch+yaml"})
        assert answer.status in (200, 201), answer.body
        return answer.json

    applied("v1", "one", {"a": "1"})
    managed = applied("v1beta2", "two", {"b": "2"})["metadata"]["managedFields"]  # type: ignore[index]
    assert {each["manager"]: each["apiVersion"] for each in managed} == {
        "one": "resource.k8s.io/v1",
        "two": "resource.k8s.io/v1beta2",
    }
    assert "b" not in applied("v1beta2", "two", {})["metadata"]["labels"]  # type: ignore[index]
