"""Writes of the status of an absent object that create it, as in kube-apiserver 1.36.3."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer
from tests.forked import api_server
from tests.integration.server.client import Answer, ask

SERVICES = "/api/v1/namespaces/default/services"
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["nothings"]}
APPLY = {"Content-Type": "application/apply-patch+yaml"}


@pytest.fixture(scope="module")
def server() -> Iterator[ApiServer]:
    with api_server() as started:
        yield started


def service(name: str, ports: int = 1) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "labels": {"a": "b"}},
        "spec": {"type": "LoadBalancer", "ports": [{"port": 80}] * ports},
        "status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}},
    }


def policy(expression: str) -> dict[str, Any]:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "applied", "labels": {"a": "b"}},
        "spec": {"matchConstraints": {"resourceRules": [RULE]}, "validations": [{"expression": expression}]},
        "status": {"observedGeneration": 7},
    }


def apply(server: ApiServer, path: str, obj: dict[str, Any]) -> Answer:
    return ask(server, "PATCH", f"{path}?fieldManager=me&force=true", obj, headers=APPLY)


@pytest.mark.parametrize("applied", [False, True])
def test_a_missing_service_is_created_by_its_status_with_nothing_allocated(server: ApiServer, applied: bool) -> None:
    path = f"{SERVICES}/by-status-{applied}".lower()
    sent = service(path.rpartition("/")[2])
    answer = apply(server, f"{path}/status", sent) if applied else ask(server, "PUT", f"{path}/status", sent)
    assert answer.status == 201
    stored = ask(server, "GET", path).json
    assert stored == answer.json
    assert stored["status"] == {"loadBalancer": {}}
    assert stored["spec"]["ports"] == [{"port": 80, "protocol": "TCP", "targetPort": 80}]
    assert not {"clusterIP", "clusterIPs", "ipFamilies"} & stored["spec"].keys()
    (manager,) = stored["metadata"]["managedFields"]
    assert (manager["subresource"], manager["operation"]) == ("status", "Apply" if applied else "Update")
    assert manager["fieldsV1"].keys() == {"f:metadata", "f:status"}


def test_a_service_that_is_no_valid_one_is_refused_as_by_a_create(server: ApiServer) -> None:
    refused = ask(server, "PUT", f"{SERVICES}/portless/status", service("portless", ports=0))
    assert refused.status == 422
    assert [cause["field"] for cause in refused.json["details"]["causes"]] == ["spec.ports"]
    merge = {"Content-Type": "application/merge-patch+json"}
    assert ask(server, "PATCH", f"{SERVICES}/portless/status", {}, headers=merge).status == 404


def test_a_dry_run_creates_no_service(server: ApiServer) -> None:
    assert ask(server, "PUT", f"{SERVICES}/tried/status?dryRun=All", service("tried")).status == 201
    assert ask(server, "GET", f"{SERVICES}/tried").status == 404


def test_a_missing_policy_is_created_by_an_apply_to_its_status_alone(server: ApiServer) -> None:
    path = f"{POLICIES}/applied/status"
    assert ask(server, "PUT", path, policy("true")).status == 404
    assert apply(server, path, policy("missing")).status == 422
    answer = apply(server, path, policy("true"))
    assert (answer.status, answer.json["metadata"]["generation"], answer.json["status"]) == (201, 1, {})
    assert answer.json["metadata"]["labels"] == {"a": "b"}


def test_other_kinds_are_not_created_by_their_status(server: ApiServer) -> None:
    pod = "/api/v1/namespaces/default/pods/none/status"
    assert apply(server, pod, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "none"}}).status == 404
