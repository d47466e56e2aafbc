"""A control plane is an API server of its own: what one has, no other one has."""

from __future__ import annotations

import json
from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer, Cluster, Refused, ask, condition, install, wait_for
from tests.integration.server.client import ask as raw
from tests.integration.server.client import connect
from tests.until import until

MAPS = "/api/v1/namespaces/default/configmaps"
SERVICES = "/api/v1/namespaces/default/services"
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
SYSTEM = {"default", "kube-node-lease", "kube-public", "kube-system"}


def definition(size: str) -> dict[str, Any]:
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {"size": {"type": size}}}},
    }
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]},
    }


def widget(size: Any) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": size}}


def test_it_begins_with_the_objects_of_a_cluster(one: Cluster, other: Cluster) -> None:
    found = ask(one, "GET", "/api/v1/namespaces")["items"]
    assert {each["metadata"]["name"] for each in found} == SYSTEM
    roles = ask(one, "GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles")["items"]
    assert {"cluster-admin", "admin", "edit", "view"} <= {each["metadata"]["name"] for each in roles}
    theirs = ask(other, "GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles")["items"]
    uids = {each["metadata"]["uid"] for each in (*roles, *theirs)}
    assert len(uids) == len(roles) + len(theirs), "each object has a uid of its own"


def test_objects_of_one_are_not_seen_by_another_nor_by_the_root(
    server: ApiServer, one: Cluster, other: Cluster
) -> None:
    ask(one, "POST", MAPS, {"metadata": {"name": "mine"}, "data": {"k": "v"}})
    for place in (server, other):
        with pytest.raises(Refused, match="not found"):
            ask(place, "GET", f"{MAPS}/mine")
    assert ask(one, "GET", f"{MAPS}/mine")["data"] == {"k": "v"}
    assert "mine" not in str(ask(server, "GET", "/api/v1/configmaps"))


def test_two_have_the_same_kind_with_other_schemas(one: Cluster, other: Cluster) -> None:
    install(one, definition("integer"))
    install(other, definition("string"))
    assert ask(one, "POST", WIDGETS, widget(1))["spec"] == {"size": 1}
    assert ask(other, "POST", WIDGETS, widget("large"))["spec"] == {"size": "large"}
    for place, wrong in ((one, "large"), (other, 1)):
        with pytest.raises(Refused, match=r"spec\.size"):
            ask(place, "POST", WIDGETS, widget(wrong))


def test_a_kind_goes_from_one_and_stays_in_the_other(server: ApiServer) -> None:
    with server.cluster() as first, server.cluster() as second:
        install(first, definition("integer"))
        install(second, definition("integer"))
        ask(second, "POST", WIDGETS, widget(1))
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com"
        ask(first, "DELETE", path)
        wait_for_absence(first, WIDGETS)
        assert ask(second, "GET", f"{WIDGETS}/w")["spec"] == {"size": 1}


def wait_for_absence(place: Cluster, path: str) -> None:
    def gone() -> bool:
        try:
            ask(place, "GET", path)
        except Refused as refused:
            return refused.status == 404
        return False

    until(gone)


def test_each_has_all_cluster_ips(one: Cluster, other: Cluster) -> None:
    spec = {"clusterIP": "10.0.0.77", "ports": [{"port": 80}]}
    for place in (one, other):
        made = ask(place, "POST", SERVICES, {"metadata": {"name": "s"}, "spec": spec})
        assert made["spec"]["clusterIP"] == "10.0.0.77"
    with pytest.raises(Refused, match="already allocated"):
        ask(one, "POST", SERVICES, {"metadata": {"name": "t"}, "spec": spec})


def test_controllers_work_in_it(one: Cluster) -> None:
    ask(one, "POST", "/api/v1/namespaces", {"metadata": {"name": "team"}})
    wait_for(one, "/api/v1/namespaces/team/serviceaccounts/default", bool)
    wait_for(one, "/api/v1/namespaces/team/configmaps/kube-root-ca.crt", bool)
    ask(one, "DELETE", "/api/v1/namespaces/team")
    wait_for_absence(one, "/api/v1/namespaces/team")


def test_a_watch_gets_events_of_its_own_control_plane_only(server: ApiServer, one: Cluster, other: Cluster) -> None:
    begun = ask(one, "GET", MAPS)["metadata"]["resourceVersion"]
    for place, name in ((server, "of-root"), (other, "of-other"), (one, "of-one")):
        ask(place, "POST", MAPS, {"metadata": {"name": name}})
    first = first_event(server, f"/clusters/one{MAPS}?watch=true&resourceVersion={begun}", one.token)
    assert (first["type"], first["object"]["metadata"]["name"]) == ("ADDED", "of-one")


def first_event(server: ApiServer, path: str, token: str) -> Any:
    """The first event of a watch."""
    connection = connect(server)
    try:
        connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
        return json.loads(connection.getresponse().readline())
    finally:
        connection.close()


def test_documents_name_paths_within_it(one: Cluster) -> None:
    places = ask(one, "GET", "/openapi/v3")["paths"]
    assert places["api/v1"]["serverRelativeURL"].startswith("/openapi/v3/api/v1?hash=")
    assert ask(one, "GET", places["api/v1"]["serverRelativeURL"])["openapi"]
    assert "/apis/apps" in ask(one, "GET", "/")["paths"]


def test_what_is_of_the_process_is_served_by_the_root_only(server: ApiServer, one: Cluster) -> None:
    for path in (
        "/metrics",
        "/metrics/slis",
        "/statusz",
        "/flagz",
        "/debug/consistency",
        "/debug/pprof/",
        "/testing/users",
    ):
        assert raw(server, "GET", f"/clusters/one{path}", token=one.token).status == 404, path
    for path in ("/healthz", "/livez", "/readyz"):
        assert raw(server, "GET", f"/clusters/one{path}", token=None).body == b"ok"


def test_the_object_tells_the_state(server: ApiServer, one: Cluster) -> None:
    path = "/apis/apiserver-gateway.dev/v1alpha1/controlplanes/one"
    found = wait_for(server, path, condition("Ready"))
    assert found["status"]["phase"] == "Ready"
    assert found["status"]["url"] == one.url
