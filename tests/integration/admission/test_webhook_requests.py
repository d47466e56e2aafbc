"""The content of AdmissionReviews: for which requests webhooks are called, and what they are told."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer, Refused, ask, webhook
from tests.forked import api_server
from tests.integration.admission.webhook_servers import POD, config_map, here, maps, place, server, servers
from tests.integration.server import client as wire
from tests.until import until

__all__ = ["place", "server", "servers"]

Request = dict[str, Any]

SCALE = {"metadata": {"name": "d"}, "spec": {"replicas": 3}}
DEPLOYMENT = {
    "metadata": {"name": "d"},
    "spec": {
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": POD["spec"]},
    },
}

# what is done, and what a webhook is told of it: operation, kind, resource, subresource, name, options' kind.
# As kube-apiserver does; ../shared/conformance, topic webhooks, has its recordings.
ADMITTED = [
    ("POST", "/api/v1/namespaces/{}/pods", POD, ("CREATE", "Pod", "pods", "", "p", "CreateOptions")),
    (
        "POST",
        "/api/v1/namespaces/{}/pods/p/eviction?dryRun=All",
        {"metadata": {"name": "p"}},
        ("CREATE", "Eviction", "pods", "eviction", "p", "CreateOptions"),
    ),
    (
        "PUT",
        "/api/v1/namespaces/{}/pods/p/ephemeralcontainers",
        {**POD, "spec": {**POD["spec"], "ephemeralContainers": [{"name": "e", "image": "i"}]}},
        ("UPDATE", "Pod", "pods", "ephemeralcontainers", "p", "UpdateOptions"),
    ),
    ("PUT", "/api/v1/namespaces/{}/pods/p/status", POD, ("UPDATE", "Pod", "pods", "status", "p", "UpdateOptions")),
    (
        "POST",
        "/api/v1/namespaces/{}/pods/p/exec?command=ls",
        None,
        ("CONNECT", "PodExecOptions", "pods", "exec", "p", ""),
    ),
    ("GET", "/api/v1/namespaces/{}/pods/p/attach", None, ("CONNECT", "PodAttachOptions", "pods", "attach", "p", "")),
    (
        "POST",
        "/api/v1/namespaces/{}/pods/p/portforward?ports=80",
        None,
        ("CONNECT", "PodPortForwardOptions", "pods", "portforward", "p", ""),
    ),
    (
        "GET",
        "/api/v1/namespaces/{}/services/s:80/proxy/x",
        None,
        ("CONNECT", "ServiceProxyOptions", "services", "proxy", "s:80", ""),
    ),
    ("DELETE", "/api/v1/namespaces/{}/pods/p", None, ("DELETE", "Pod", "pods", "", "p", "DeleteOptions")),
    (
        "POST",
        "/apis/apps/v1/namespaces/{}/deployments",
        DEPLOYMENT,
        ("CREATE", "Deployment", "deployments", "", "d", "CreateOptions"),
    ),
    (
        "PUT",
        "/apis/apps/v1/namespaces/{}/deployments/d/scale",
        SCALE,
        ("UPDATE", "Scale", "deployments", "scale", "d", "UpdateOptions"),
    ),
    (
        "POST",
        "/api/v1/namespaces/{}/serviceaccounts/robot/token",
        {},
        ("CREATE", "TokenRequest", "serviceaccounts", "token", "robot", "CreateOptions"),
    ),
    (
        "DELETE",
        "/apis/apps/v1/namespaces/{}/deployments",
        None,
        ("DELETE", "Deployment", "deployments", "", "", "DeleteOptions"),
    ),
]


def told(request: Request) -> tuple[str, ...]:
    return (
        request["operation"],
        request["kind"]["kind"],
        request["resource"]["resource"],
        request.get("subResource", ""),
        request.get("name", ""),
        (request["options"] or {}).get("kind", ""),
    )


def test_what_is_admitted_as_what(server: ApiServer, place: str) -> None:
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"], "operations": ["*"]}
    ask(server, "POST", f"/api/v1/namespaces/{place}/serviceaccounts", {"metadata": {"name": "robot"}})
    with webhook(server, lambda request: None, rules=[rule], **here(place)) as hook:
        for method, path, body, expected in ADMITTED:
            hook.requests.clear()
            given = None if body is None else _filled(body, place)
            try:
                ask(server, method, path.format(place), given)
            except Refused:
                assert expected[0] == "CONNECT", "nobody is there to be connected to, which is looked at later"
            assert expected in [told(request) for request in hook.requests], (method, path)
            own = [request for request in hook.requests if request["kind"]["kind"] == expected[1]]
            assert own[0]["namespace"] == place
            assert (own[0]["object"] is None) == (expected[0] == "DELETE")
            assert (own[0]["oldObject"] is None) == (expected[0] in ("CREATE", "CONNECT"))


@pytest.mark.parametrize(
    ("minor", "kinds"), [("1.36", ["LocalSubjectAccessReview", "ConfigMap"]), ("1.37", ["ConfigMap"])]
)
def test_of_reviews_webhooks_are_told_before_1_37(minor: str, kinds: list[str]) -> None:
    spec = {"user": "u", "resourceAttributes": {"namespace": "default", "verb": "get", "resource": "pods"}}
    review = "/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews"
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"], "operations": ["*"]}
    with (
        api_server("--controllers=-*", f"--kubernetes-version={minor}") as server,
        webhook(server, lambda request: None, rules=[rule], **here("default")) as hook,
    ):
        ask(server, "POST", review, {"spec": spec})
        ask(server, "POST", maps("default"), config_map("c"))
        told_of = [request["kind"]["kind"] for request in hook.requests]
        assert [kind for kind in told_of if kind != "FlowSchema"] == kinds  # those are checked now and then


def test_what_is_written_once_and_not_stored_has_a_manager(server: ApiServer, place: str) -> None:
    """As in kube-apiserver: managedFields of every created object are set before webhooks are called, even if it is not
    stored.
    """
    at, seen = f"/api/v1/namespaces/{place}", dict[str, Request]()
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["*/*"], "operations": ["CREATE"]}
    ask(server, "POST", f"{at}/serviceaccounts", {"metadata": {"name": "robot"}})
    ask(server, "POST", f"{at}/pods", {**POD, "spec": {"containers": POD["spec"]["containers"]}})
    eviction = {"metadata": {"name": "p"}, "deleteOptions": {"dryRun": ["All"]}}
    with webhook(server, lambda request: None, rules=[rule], **here(place)) as hook:
        ask(server, "POST", f"{at}/serviceaccounts/robot/token", {"spec": {"audiences": ["a"]}})
        ask(server, "POST", f"{at}/pods/p/binding?dryRun=All", {"metadata": {"name": "p"}, "target": {"name": "n"}})
        ask(server, "POST", f"{at}/pods/p/eviction", eviction)
        for request in hook.requests:
            seen[request["subResource"]] = request["object"]["metadata"]
    fields = {name: meta["managedFields"][0]["fieldsV1"] for name, meta in seen.items()}
    assert fields["binding"] == {"f:target": {}}
    assert fields["eviction"] == {"f:deleteOptions": {".": {}, "f:dryRun": {}}}
    assert fields["token"] == {"f:spec": {"f:audiences": {}, "f:expirationSeconds": {}}}
    assert {meta["managedFields"][0]["subresource"] for meta in seen.values()} == set(seen)
    assert seen["token"]["namespace"] == place


def test_the_old_scale_has_its_managers_for_those_alone_that_may_change_the_new_one(
    server: ApiServer, place: str
) -> None:
    at = f"/apis/apps/v1/namespaces/{place}/deployments"
    ask(server, "POST", at, DEPLOYMENT)
    rule = {"apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments/scale"], "operations": ["*"]}
    with (
        webhook(server, lambda request: None, mutating=True, rules=[rule], **here(place)) as first,
        webhook(server, lambda request: None, rules=[rule], **here(place)) as second,
    ):
        ask(server, "PUT", f"{at}/d/scale", SCALE)
        ask(server, "PUT", f"{at}/d/scale", {**SCALE, "spec": {"replicas": 4}})
    assert "managedFields" in first.requests[-1]["oldObject"]["metadata"]
    assert "managedFields" not in second.requests[-1]["oldObject"]["metadata"]


def test_an_apply_that_changes_nothing_is_asked_about_too(server: ApiServer, place: str) -> None:
    applied = {"apiVersion": "v1", "kind": "ConfigMap", **config_map("a", a="1")}
    path, apply = f"{maps(place)}/a?fieldManager=m", {"Content-Type": "application/apply-patch+yaml"}
    made = wire.ask(server, "PATCH", path, applied, headers=apply).json
    with webhook(server, lambda request: None, "configmaps", **here(place)) as hook:
        again = wire.ask(server, "PATCH", path, applied, headers=apply).json
        assert [each["operation"] for each in hook.requests] == ["UPDATE"]
    assert again["metadata"] == made["metadata"]


def test_writes_of_the_servers_own_controllers_name_no_manager_in_their_options(server: ApiServer, place: str) -> None:
    ask(server, "POST", maps(place), config_map("owned"))
    with webhook(server, lambda request: None, "configmaps", **here(place)) as hook:
        ask(server, "DELETE", f"{maps(place)}/owned", {"propagationPolicy": "Foreground"})
        until(lambda: any(each["operation"] == "UPDATE" for each in hook.requests))
        own = next(each for each in hook.requests if each["operation"] == "UPDATE")
    assert own["options"] == {"kind": "UpdateOptions", "apiVersion": "meta.k8s.io/v1"}


def _filled(value: Any, place: str) -> Any:
    if isinstance(value, dict):
        return {key: _filled(each, place) for key, each in value.items()}
    return value.replace("{0}", place) if isinstance(value, str) else value


def test_a_collection_of_cluster_scoped_objects_is_in_no_namespace(server: ApiServer, place: str) -> None:
    """And not in one named like the object: webhooks with a namespaceSelector would look for that namespace."""
    roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
    ask(server, "POST", roles, {"metadata": {"name": place, "labels": {"of": place}}, "rules": []})
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["clusterroles"], "operations": ["DELETE"]}
    nowhere = {"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "DoesNotExist"}]}
    with webhook(server, lambda request: None, rules=[rule], namespaceSelector=nowhere) as hook:
        ask(server, "DELETE", f"{roles}?labelSelector=of%3D{place}")
        assert [(each["operation"], each.get("namespace", "")) for each in hook.requests] == [("DELETE", "")]
