"""Writers of ResourceClaims need rights for devices: admin access, bindings of claims, and reports of a driver."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer
from tests.forked import api_server
from tests.integration.server.client import ask

GROUP = "resource.k8s.io"
NAMED = "/api/v1/namespaces"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
NODE = "authentication.kubernetes.io%2fnode-name"
ADMINISTERED = {"name": "r", "exactly": {"deviceClassName": "gpu", "adminAccess": True}}
RESULTS = [{"request": "r", "driver": driver, "pool": "p", "device": "d"} for driver in ("a.com", "b.com")]
NODE_FIELD = {"key": "metadata.name", "operator": "In", "values": ["n1"]}
ALLOCATION = {
    "devices": {"results": RESULTS},
    "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [NODE_FIELD]}]},
}


@pytest.fixture(scope="module")
def server() -> Iterator[ApiServer]:
    with api_server() as running:
        for name, labels in (("plain", {}), ("admin", {"resource.kubernetes.io/admin-access": "true"})):
            assert ask(running, "POST", NAMED, {"metadata": {"name": name, "labels": labels}}).status == 201
        yield running


def claims(namespace: str, resource: str = "resourceclaims") -> str:
    return f"/apis/{GROUP}/v1/namespaces/{namespace}/{resource}"


def claim(name: str, request: Any) -> Any:
    return {"metadata": {"name": name}, "spec": {"devices": {"requests": [request]}}}


@pytest.mark.parametrize("resource", ["resourceclaims", "resourceclaimtemplates"])
def test_administrators_access_is_for_labelled_namespaces(server: ApiServer, resource: str) -> None:
    obj = claim("c", ADMINISTERED)
    if resource == "resourceclaimtemplates":
        obj["spec"] = {"spec": obj["spec"]}
    refused = ask(server, "POST", claims("plain", resource), obj)
    assert refused.status == 422
    (cause,) = refused.json["details"]["causes"]
    assert cause == {
        "reason": "FieldValueForbidden",
        "field": "spec.devices.requests[0].adminAccess",
        "message": "Forbidden: admin access to devices requires the `resource.kubernetes.io/admin-access: true` label "
        "on the containing namespace",
    }
    assert ask(server, "POST", claims("admin", resource), obj).status == 201


def test_a_status_needs_a_right_to_bind_and_one_to_the_driver(server: ApiServer) -> None:
    """The roles grow step by step. Each step is refused only for the right that is still missing."""
    path = f"{claims('plain')}/shared"
    obj = claim("shared", {"name": "r", "exactly": {"deviceClassName": "gpu"}})
    assert ask(server, "POST", claims("plain"), obj).status == 201
    device = {"driver": "a.com", "pool": "p", "device": "d"}
    driver = Writer(server, "driver")
    driver.may("resourceclaims/status", "patch")
    bound = {"allocation": ALLOCATION}

    assert driver.refusals(path, bound) == [
        "status.allocation: Forbidden: changing status.allocation or status.reservedFor requires "
        'resource="resourceclaims/binding", verb="patch" permission: resourceclaims.resource.k8s.io is forbidden: '
        'User "system:serviceaccount:plain:driver" cannot patch resource "resourceclaims/binding" in API group '
        '"resource.k8s.io" at the cluster scope'
    ]
    driver.may("resourceclaims/binding", "patch")
    assert driver.refusals(path, bound) == []

    reported = {**bound, "devices": [device]}
    assert driver.refusals(path, reported) == [
        'status.devices: Forbidden: changing status.devices requires resource="resourceclaims/driver", '
        'verb="[arbitrary-node:patch]" permission: resourceclaims.resource.k8s.io "a.com" is forbidden: '
        'User "system:serviceaccount:plain:driver" cannot arbitrary-node:patch resource "resourceclaims/driver" in API '
        'group "resource.k8s.io" in the namespace "plain"'
    ]
    driver.may("resourceclaims/driver", "associated-node:patch", "a.com")
    assert len(driver.refusals(path, reported)) == 1
    assert len(driver.refusals(path, reported, node="n2")) == 1
    assert driver.refusals(path, reported, node="n1") == []
    assert len(driver.refusals(path, {**bound, "devices": [{**device, "driver": "b.com"}]}, node="n1")) == 1
    driver.may("resourceclaims/driver", "arbitrary-node:patch", "a.com")
    assert driver.refusals(path, reported) == []

    granted = {"devices": {"results": [{**RESULTS[0], "adminAccess": True}]}}
    (refused,) = driver.refusals(path, {"allocation": granted})
    assert refused.startswith("status.allocation.devices.results[0].adminAccess: Forbidden: admin access to devices")


class Writer:
    """A service account of the namespace `plain`, with the rights that a test gives."""

    def __init__(self, server: ApiServer, name: str) -> None:
        self._server, self._name, self._roles = server, name, 0

    def may(self, resource: str, verb: str, *names: str) -> None:
        self._roles += 1
        name = f"{self._name}-{self._roles}"
        rule = {"apiGroups": [GROUP], "resources": [resource], "verbs": [verb], "resourceNames": names}
        subject = {"kind": "ServiceAccount", "namespace": "plain", "name": self._name}
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
        for kind, body in (
            ("clusterroles", {"rules": [rule]}),
            ("clusterrolebindings", {"subjects": [subject], "roleRef": role}),
        ):
            made = ask(self._server, "POST", f"{RBAC}/{kind}", {"metadata": {"name": name}, **body})
            assert made.status == 201, made.json

    def refusals(self, path: str, status: Any, node: str = "") -> list[str]:
        """The field and message of each cause of the refusal, for a dry run of a status."""
        who = {"Impersonate-User": f"system:serviceaccount:plain:{self._name}"}
        who |= {f"Impersonate-Extra-{NODE}": node} if node else {}
        headers = {"Content-Type": "application/merge-patch+json", **who}
        answer = ask(self._server, "PATCH", f"{path}/status?dryRun=All", {"status": status}, headers=headers)
        if answer.status == 200:
            return []
        assert answer.status == 422, json.dumps(answer.json)
        return [f"{cause['field']}: {cause['message']}" for cause in answer.json["details"]["causes"]]
