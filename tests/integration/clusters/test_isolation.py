"""No way leads from one control plane to another or to the root: each test tries one."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer, Cluster, Refused, ask, user, wait_for
from tests.integration.clusters.test_life import MAPS
from tests.integration.server.client import ask as raw
from tests.integration.server.client import connect

NAMESPACES = "/api/v1/namespaces"
PLANES = "/apis/apiserver-gateway.dev/v1alpha1/controlplanes"
WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
REVIEW = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}


def account_token(place: ApiServer | Cluster) -> str:
    """A token of the service account default/default."""
    path = "/api/v1/namespaces/default/serviceaccounts/default"
    wait_for(place, path, bool)
    return str(ask(place, "POST", f"{path}/token", {"spec": {}})["status"]["token"])


def status(server: ApiServer, path: str, token: str | None, **more: Any) -> int:
    return raw(server, "GET", path, token=token, **more).status


def who(server: ApiServer, below: str, token: str) -> dict[str, Any]:
    found = raw(server, "POST", f"{below}{WHO}", REVIEW, token=token)
    assert found.status == 201, found.body
    return dict(found.json["status"]["userInfo"])


def test_a_token_is_good_in_its_own_control_plane_only(server: ApiServer, one: Cluster, other: Cluster) -> None:
    places = {"": server.token, "/clusters/one": one.token, "/clusters/other": other.token}
    for place in places:
        for of, token in places.items():
            assert status(server, f"{place}{NAMESPACES}", token) == (200 if of == place else 401), (place, of)


def test_a_token_of_a_service_account_too(server: ApiServer, one: Cluster, other: Cluster) -> None:
    places = {
        "": account_token(server),
        "/clusters/one": account_token(one),
        "/clusters/other": account_token(other),
    }
    for place in places:
        for of, token in places.items():
            assert status(server, f"{place}{NAMESPACES}", token) == (403 if of == place else 401), (place, of)


def test_a_connection_remembers_nobody_across_control_planes(server: ApiServer, one: Cluster, other: Cluster) -> None:
    connection = connect(server)
    try:
        for _ in range(3):
            for place, token in (("", server.token), ("/clusters/one", one.token), ("/clusters/other", other.token)):
                for at, expected in (("", ""), ("/clusters/one", "one"), ("/clusters/other", "other")):
                    connection.request("GET", f"{at}{NAMESPACES}", headers={"Authorization": f"Bearer {token}"})
                    answer = connection.getresponse()
                    answer.read()
                    assert answer.status == (200 if at == place else 401), (at, place, expected)
    finally:
        connection.close()


PATHS = (
    "/clusters/one%2F..%2Fother/api",
    "/clusters/one%2fapi",
    "/clusters//one/api",
    "/clusters/./one/api",
    "/clusters/../clusters/one/api",
    "/clusters/ONE/api",
    "/clusters/one./api",
    "/clusters/-one/api",
    "/clusters/one%00/api",
    f"/clusters/{'a' * 64}/api",
    "/clusters/",
    "/clusters/absent/api",
)


@pytest.mark.parametrize("path", PATHS)
def test_a_path_that_names_no_control_plane_is_not_found(server: ApiServer, one: Cluster, path: str) -> None:
    found = raw(server, "GET", path, token=one.token)
    assert found.status == 404 and found.json["kind"] == "Status"


@pytest.mark.parametrize(
    "path", ["/%63lusters/one/api", "//clusters/one/api", "/./clusters/one/api", "/Clusters/one/api"]
)
def test_another_spelling_leads_to_the_root(server: ApiServer, one: Cluster, path: str) -> None:
    assert raw(server, "GET", path, token=one.token).status == 401
    assert raw(server, "GET", path).status in (301, 404)


@pytest.mark.parametrize("below", ["/../other", "/%2e%2e/other", "//../other", "/api/../../other", "/clusters/other"])
def test_no_path_leads_out(server: ApiServer, one: Cluster, other: Cluster, below: str) -> None:
    found = raw(server, "GET", f"/clusters/one{below}/api/v1/namespaces", token=one.token)
    assert found.status in (301, 403, 404, 500)
    assert b"kube-system" not in found.body
    assert raw(server, "GET", f"/clusters/one{below}/api/v1/namespaces", token=other.token).status in (401, 500)


def test_users_of_the_root_do_not_enter(server: ApiServer, one: Cluster) -> None:
    masters = user(server, "mallory", groups=("system:masters",))
    for token in (server.token, masters.token, account_token(server)):
        assert status(server, f"/clusters/one{NAMESPACES}", token) == 401


def test_an_administrator_enters_under_another_name(server: ApiServer) -> None:
    made = {"apiVersion": "apiserver-gateway.dev/v1alpha1", "kind": "ControlPlane", "metadata": {"name": "visited"}}
    ask(server, "POST", PLANES, {**made, "spec": {"admins": {"users": ["alice"], "groups": ["platform"]}}})
    wait_for(server, f"{PLANES}/visited", lambda obj: (obj.get("status") or {}).get("phase") == "Ready")
    below = "/clusters/visited"
    for name, groups in (("alice", ()), ("bob", ("platform", "system:masters"))):
        token = user(server, name, groups=groups).token
        found = who(server, below, token)
        assert found["username"] == f"root:{name}"
        assert found["groups"] == ["root:admins", "system:authenticated"]
        assert status(server, f"{below}/api/v1/secrets", token) == 200
    stranger = user(server, "carol", groups=("system:masters",)).token
    assert status(server, f"{below}{NAMESPACES}", stranger) == 401
    token = user(server, "alice").token
    ask(server, "PUT", f"{PLANES}/visited", {**ask(server, "GET", f"{PLANES}/visited"), "spec": {}})
    assert status(server, f"{below}{NAMESPACES}", token) == 401, "who is an administrator no more leaves at once"
    ask(server, "DELETE", f"{PLANES}/visited")


@pytest.mark.parametrize("name", ["system:masters", "system:serviceaccounts"])
def test_no_group_of_the_system_can_be_an_administrator(server: ApiServer, name: str) -> None:
    made = {"apiVersion": "apiserver-gateway.dev/v1alpha1", "kind": "ControlPlane", "metadata": {"name": "no"}}
    for who_enters in ("users", "groups"):
        with pytest.raises(Refused, match="of the system cannot enter"):
            ask(server, "POST", PLANES, {**made, "spec": {"admins": {who_enters: [name]}}})


def test_a_service_account_that_is_named_does_not_enter(server: ApiServer) -> None:
    made = {"apiVersion": "apiserver-gateway.dev/v1alpha1", "kind": "ControlPlane", "metadata": {"name": "named"}}
    ask(server, "POST", PLANES, {**made, "spec": {"admins": {"groups": ["everybody"]}}})
    wait_for(server, f"{PLANES}/named", lambda obj: (obj.get("status") or {}).get("phase") == "Ready")
    token = user(server, "system:serviceaccount:default:default", groups=("everybody",)).token
    assert status(server, f"/clusters/named{NAMESPACES}", token) == 401
    ask(server, "DELETE", f"{PLANES}/named")


def test_masters_of_one_are_nobody_at_the_root(server: ApiServer, one: Cluster) -> None:
    assert "system:masters" in who(server, "/clusters/one", one.token)["groups"]
    assert status(server, PLANES, one.token) == 401


def test_impersonation_stays_inside(server: ApiServer, one: Cluster) -> None:
    headers = {"Impersonate-User": "kubernetes-admin", "Impersonate-Group": "system:masters"}
    found = raw(server, "POST", f"/clusters/one{WHO}", REVIEW, token=one.token, headers=headers)
    assert found.json["status"]["userInfo"]["username"] == "kubernetes-admin"
    assert status(server, NAMESPACES, one.token, headers=headers) == 401
    assert raw(server, "GET", f"/clusters/other{NAMESPACES}", token=one.token, headers=headers).status in (401, 404)
    nobody = {"Impersonate-User": "nobody"}
    assert status(server, f"/clusters/one{NAMESPACES}", account_token(one), headers=nobody) == 403


def test_headers_of_a_front_proxy_name_nobody(server: ApiServer, one: Cluster) -> None:
    headers = {"X-Remote-User": "kubernetes-admin", "X-Remote-Group": "system:masters"}
    assert status(server, f"/clusters/one{NAMESPACES}", None, headers=headers) == 403


def test_a_request_is_not_signed_by_the_authority_of_the_root(server: ApiServer, one: Cluster) -> None:
    kept = ask(one, "GET", "/api/v1/namespaces/kube-system/configmaps")["items"]
    names = {each["metadata"]["name"] for each in kept}
    assert "extension-apiserver-authentication" not in names, "the root's CAs vouch for nobody here"


def test_the_issuer_is_its_own(server: ApiServer, one: Cluster, other: Cluster) -> None:
    def told(place: ApiServer | Cluster) -> tuple[str, str]:
        keys = ask(place, "GET", "/openid/v1/jwks")["keys"]
        return ask(place, "GET", "/.well-known/openid-configuration")["issuer"], keys[0]["kid"]

    issuers, keys = zip(told(server), told(one), told(other), strict=True)
    assert len(set(issuers)) == len(set(keys)) == 3
    found = ask(one, "GET", "/.well-known/openid-configuration")
    assert found["jwks_uri"] == f"{one.url}/openid/v1/jwks"


def hook(url: str) -> dict[str, Any]:
    rule = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["endpoints"]}
    called = {"clientConfig": {"url": url}, "sideEffects": "None", "admissionReviewVersions": ["v1"], "rules": [rule]}
    return {"metadata": {"name": "h"}, "webhooks": [{"name": "h.example.com", **called}]}


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "169.254.169.254", "[::ffff:127.0.0.1]"])
def test_a_webhook_cannot_lead_to_this_host(server: ApiServer, host: str) -> None:
    with server.cluster() as cluster:
        hooks = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
        ask(cluster, "POST", hooks, hook(f"https://{host}:{server.port}/api"))
        with pytest.raises(Refused, match="permission denied"):
            ask(cluster, "POST", "/api/v1/namespaces/default/endpoints", {"metadata": {"name": "e"}})


def test_a_proxy_cannot_lead_to_this_host(server: ApiServer, one: Cluster) -> None:
    node = {"metadata": {"name": "n"}}
    ask(one, "POST", "/api/v1/nodes", node)
    addresses = {"status": {"addresses": [{"type": "InternalIP", "address": "127.0.0.1"}]}}
    ask(one, "PUT", "/api/v1/nodes/n/status", {**ask(one, "GET", "/api/v1/nodes/n"), **addresses})
    with pytest.raises(Refused) as refused:
        ask(one, "GET", f"/api/v1/nodes/https:n:{server.port}/proxy/api")
    assert refused.value.status in (400, 403, 503)


def names_in(found: Any) -> set[str]:
    return {each["metadata"]["name"] for each in found.get("items", ())}


def test_a_continue_token_of_another_leads_to_own_objects_only(one: Cluster, other: Cluster) -> None:
    for place, word in ((one, "theirs"), (other, "ours")):
        for number in range(3):
            ask(place, "POST", MAPS, {"metadata": {"name": f"{word}-{number}"}})
    token = ask(one, "GET", f"{MAPS}?limit=1")["metadata"]["continue"]
    found = raw(one.server, "GET", f"/clusters/{other.name}{MAPS}?limit=10&continue={token}", token=other.token)
    assert found.status in (200, 400, 410) and not any(name.startswith("theirs") for name in names_in(found.json))
    at_root = raw(one.server, "GET", f"{MAPS}?limit=10&continue={token}")
    assert at_root.status in (200, 400, 410) and not {"theirs-0", "theirs-1", "theirs-2"} & names_in(at_root.json)


@pytest.mark.parametrize("match", ["Exact", "NotOlderThan"])
def test_a_resource_version_of_another_shows_own_objects_only(one: Cluster, other: Cluster, match: str) -> None:
    """Revisions are of the whole etcd: those of another one are valid, and tell nothing."""
    written = ask(one, "POST", MAPS, {"metadata": {"name": f"versioned-{match.lower()}"}})["metadata"]
    path = f"{MAPS}?resourceVersion={written['resourceVersion']}&resourceVersionMatch={match}"
    for place, wanted in ((one, True), (other, False)):
        assert (written["name"] in names_in(ask(place, "GET", path))) is wanted


def test_a_precondition_holds_for_the_own_object(one: Cluster, other: Cluster) -> None:
    """The uid and the resourceVersion of an equal object elsewhere are a conflict, not a permission."""
    body = {"metadata": {"name": "equal"}}
    theirs = ask(one, "POST", MAPS, body)["metadata"]
    ours = ask(other, "POST", MAPS, body)["metadata"]
    assert theirs["uid"] != ours["uid"]
    path = f"/clusters/{other.name}{MAPS}/equal"
    for given in ({"uid": theirs["uid"]}, {"resourceVersion": theirs["resourceVersion"]}):
        assert raw(one.server, "DELETE", path, {"preconditions": given}, token=other.token).status == 409
    replaced = raw(one.server, "PUT", path, {**body, "metadata": theirs}, token=other.token)
    assert replaced.status == 409
    assert ask(one, "GET", f"{MAPS}/equal")["metadata"]["resourceVersion"] == theirs["resourceVersion"]


def test_managers_of_fields_are_of_their_own_control_plane(one: Cluster, other: Cluster) -> None:
    """What a manager of the same name applied in one makes no conflict in another, and forces nothing."""
    headers = {"Content-Type": "application/apply-patch+yaml"}
    path = f"{MAPS}/applied?fieldManager=tool"
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "applied"}, "data": {"k": "one"}}
    for place, value in ((one, "one"), (other, "other")):
        applied = body | {"data": {"k": value}}
        found = raw(one.server, "PATCH", f"/clusters/{place.name}{path}", applied, token=place.token, headers=headers)
        assert found.status == 201, found.json
    smaller = {key: value for key, value in body.items() if key != "data"}
    emptied = raw(one.server, "PATCH", f"/clusters/{one.name}{path}", smaller, token=one.token, headers=headers)
    assert emptied.status == 200
    assert "data" not in ask(one, "GET", f"{MAPS}/applied")
    assert ask(other, "GET", f"{MAPS}/applied")["data"] == {"k": "other"}
