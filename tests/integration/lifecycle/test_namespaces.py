"""A deleted namespace is deleted with all objects in it (page "Namespaces")."""

from __future__ import annotations

from typing import Any

import pytest

from tests.hasty import hasty
from tests.integration.lifecycle.api import Api
from tests.integration.server.client import ask
from tests.integration.testing.watching import watching
from tests.until import until


def namespace(api: Api) -> dict[str, Any]:
    found: dict[str, Any] = api.ask("GET", f"/api/v1/namespaces/{api.namespace}").json
    return found


def conditions(api: Api) -> dict[str, tuple[str, str]]:
    found = namespace(api).get("status", {}).get("conditions", ())
    return {each["type"]: (each["status"], each["message"]) for each in found}


def test_everything_goes_and_then_the_namespace(api: Api) -> None:
    api.create("a")
    api.create("b", resource="secrets")
    api.ask("POST", f"/apis/coordination.k8s.io/v1/namespaces/{api.namespace}/leases", {"metadata": {"name": "l"}})
    ended = api.ask("DELETE", f"/api/v1/namespaces/{api.namespace}").json
    assert ended["status"]["phase"] == "Terminating"
    until(lambda: namespace(api).get("code") == 404)
    assert not api.names() | api.names("secrets") | api.names("serviceaccounts")
    again = api.begin()
    assert again.names() == set()


def test_what_is_in_a_small_namespace_goes_in_the_order_of_names(api: Api) -> None:
    names = [f"m-{number:02}" for number in range(40)]
    for name in names:
        api.create(name)
    began = api.ask("GET", api.path()).json["metadata"]["resourceVersion"]
    api.ask("DELETE", f"/api/v1/namespaces/{api.namespace}")
    until(lambda: namespace(api).get("code") == 404)
    gone: list[str] = []
    with watching(api.server, api.path(), f"resourceVersion={began}") as events:
        while len(gone) < len(names):
            kind, name = events.name()
            gone += [name] if kind == "DELETED" and name in names else []
    assert gone == names


def test_what_finalizers_hold_is_told_and_waited_for(api: Api) -> None:
    api.create("held", resource="secrets", finalizers=["example.com/f"])
    api.ask("DELETE", f"/api/v1/namespaces/{api.namespace}")
    remaining = "Some resources are remaining: secrets. has 1 resource instances"
    until(lambda: conditions(api).get("NamespaceContentRemaining") == ("True", remaining))
    held = "Some content in the namespace has finalizers remaining: example.com/f in 1 resource instances"
    assert conditions(api)["NamespaceFinalizersRemaining"] == ("True", held)
    refused = api.ask("POST", api.path(), {"metadata": {"name": "late"}})
    assert refused.status == 403
    assert refused.json["details"]["causes"][0]["reason"] == "NamespaceTerminating"
    api.patch("held", {"finalizers": None}, "secrets")
    until(lambda: namespace(api).get("code") == 404)


def test_pods_go_before_anything_else(api: Api) -> None:
    api.create("waits")
    api.has_account()
    pod = {
        "metadata": {"name": "p", "finalizers": ["example.com/f"]},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    assert api.ask("POST", api.path(resource="pods"), pod).status == 201
    api.ask("DELETE", f"/api/v1/namespaces/{api.namespace}")
    remaining = "Some content in the namespace has finalizers remaining"
    until(
        lambda: (
            namespace(api)["status"]["phase"] == "Terminating"
            and (api.get("p", "pods") or {})["metadata"].get("deletionTimestamp")
        )
    )
    assert api.names() == {"waits"}, remaining
    api.patch("p", {"finalizers": None}, "pods")
    until(lambda: namespace(api).get("code") == 404)


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
def test_some_namespaces_stay(api: Api, name: str) -> None:
    assert api.ask("DELETE", f"/api/v1/namespaces/{name}").status == 403


def test_each_namespace_has_its_account_and_certificates_again_and_again(api: Api) -> None:
    def has_both() -> bool:
        maps = api.ask("GET", api.path("kube-root-ca.crt"))
        return maps.status == 200 and api.get("default", "serviceaccounts") is not None

    until(has_both)
    assert "BEGIN CERTIFICATE" in api.ask("GET", api.path("kube-root-ca.crt")).json["data"]["ca.crt"]
    api.delete("default", resource="serviceaccounts")
    api.delete("kube-root-ca.crt")
    until(has_both)


def test_token_secrets_are_filled_and_go_with_their_account(api: Api) -> None:
    account = api.create("robot", resource="serviceaccounts")
    annotations = {"kubernetes.io/service-account.name": "robot"}
    body = {"metadata": {"name": "t", "annotations": annotations}, "type": "kubernetes.io/service-account-token"}
    api.ask("POST", api.path(resource="secrets"), body)
    until(lambda: {"token", "ca.crt", "namespace"} <= (api.get("t", "secrets") or {}).get("data", {}).keys())
    secret = api.get("t", "secrets")
    assert secret is not None
    uid = secret["metadata"]["annotations"]["kubernetes.io/service-account.uid"]
    assert uid == account["metadata"]["uid"]
    api.delete("robot", resource="serviceaccounts")
    until(lambda: not api.names("secrets"))


def test_what_every_cluster_has_comes_back_when_it_is_deleted() -> None:
    path, namespace = "/api/v1/namespaces/default/services/kubernetes", "/api/v1/namespaces/kube-node-lease"
    with hasty({"gateway.controllers.bootstrap.REPAIR_EVERY": 0.2}) as server:
        before = ask(server, "GET", namespace).json["metadata"]["uid"]
        assert ask(server, "DELETE", path).status == 200
        until(lambda: ask(server, "GET", path).status == 200)
        assert ask(server, "DELETE", namespace).status == 200
        until(lambda: ask(server, "GET", namespace).json["metadata"].get("uid", before) != before)
        assert ask(server, "GET", namespace).json["status"] == {"phase": "Active"}


def test_what_cannot_be_discovered_keeps_a_namespace(api: Api) -> None:
    group = f"{api.namespace}.example.com"
    service = {"namespace": "default", "name": "absent"}
    spec = {"group": group, "version": "v1", "service": service, "insecureSkipTLSVerify": True}
    spec |= {"groupPriorityMinimum": 100, "versionPriority": 10}
    services = "/apis/apiregistration.k8s.io/v1/apiservices"
    made = api.ask("POST", services, {"metadata": {"name": f"v1.{group}"}, "spec": spec})
    assert made.status == 201, made.body
    try:
        api.create("a")
        api.ask("DELETE", f"/api/v1/namespaces/{api.namespace}")
        stale = f"{group}/v1: stale GroupVersion discovery: {group}/v1"
        failed = f"unable to retrieve the complete list of server APIs: {stale}"
        failing = f"Discovery failed for some groups, 1 failing: {failed}"
        until(lambda: conditions(api).get("NamespaceDeletionDiscoveryFailure") == ("True", failing))
        until(lambda: not api.names())  # another try deletes objects that were created meanwhile
        until(lambda: conditions(api)["NamespaceContentRemaining"][0] == "False")
    finally:
        api.ask("DELETE", f"{services}/v1.{group}")
    until(lambda: namespace(api).get("code") == 404)
