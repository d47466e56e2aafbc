"""Writes on several replicas: no write is lost, and no address or port is allocated twice."""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import ssl
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from apiserver_gateway.testing import ApiServer
from gateway.release.minors import DEFAULT
from storage.embedded import EmbeddedEtcd
from tests.forked import api_server
from tests.integration.server.client import Answer, ask
from tests.until import until

Servers = tuple[ApiServer, ApiServer]
NAMESPACE = "/api/v1/namespaces/default"
MERGE = {"Content-Type": "application/merge-patch+json"}


def at_once(calls: list[tuple[Any, ...]], **options: Any) -> list[Answer]:
    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(lambda call: ask(*call, **options), calls))


def test_patches_on_both_servers_all_count(servers: Servers) -> None:
    ask(servers[0], "POST", f"{NAMESPACE}/configmaps", {"metadata": {"name": "counted"}})
    path = f"{NAMESPACE}/configmaps/counted"
    calls = [(servers[n % 2], "PATCH", path, {"data": {f"k{n}": "v"}}) for n in range(24)]
    assert {answer.status for answer in at_once(calls, headers=MERGE)} == {200}
    assert len(ask(servers[0], "GET", path).json["data"]) == 24


def test_a_right_is_in_force_at_once_and_elsewhere_as_soon_as_it_is_known_there(servers: Servers) -> None:
    group = "rbac.authorization.k8s.io"
    binding = {
        "metadata": {"name": "ada"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "view"},
        "subjects": [{"kind": "User", "apiGroup": group, "name": "ada"}],
    }
    bindings, ada = f"/apis/{group}/v1/clusterrolebindings", {"Impersonate-User": "ada"}

    def may(server: ApiServer) -> bool:
        return ask(server, "GET", f"{NAMESPACE}/configmaps", headers=ada).status == 200

    def knows(version: str) -> bool:
        """Whether the other server has seen all writes up to a version."""
        known = f"{bindings}?resourceVersion={version}&resourceVersionMatch=NotOlderThan"
        return ask(servers[1], "GET", known).status == 200

    assert not may(servers[0]) and not may(servers[1])
    made = ask(servers[0], "POST", bindings, binding)
    assert made.status == 201
    assert may(servers[0])
    until(lambda: knows(made.json["metadata"]["resourceVersion"]))
    assert may(servers[1])
    assert ask(servers[0], "DELETE", f"{bindings}/ada").status == 200
    assert not may(servers[0])
    version = ask(servers[0], "GET", bindings).json["metadata"]["resourceVersion"]
    until(lambda: knows(version))
    assert not may(servers[1])


def test_of_concurrent_creates_one_wins(servers: Servers) -> None:
    calls = [(servers[n % 2], "POST", f"{NAMESPACE}/configmaps", {"metadata": {"name": "one"}}) for n in range(8)]
    assert sorted(answer.status for answer in at_once(calls)) == [201, *[409] * 7]


def test_no_two_services_share_an_address_or_a_port(servers: Servers) -> None:
    def service(number: int) -> dict[str, Any]:
        return {"metadata": {"name": f"s{number}"}, "spec": {"type": "NodePort", "ports": [{"port": 80}]}}

    calls = [(servers[n % 2], "POST", f"{NAMESPACE}/services", service(n)) for n in range(16)]
    answers = at_once(calls)
    assert [answer.status for answer in answers] == [201] * 16
    made = [answer.json["spec"] for answer in answers]
    assert len({spec["clusterIP"] for spec in made}) == 16
    assert len({spec["ports"][0]["nodePort"] for spec in made}) == 16
    gone = at_once([(servers[n % 2], "DELETE", f"{NAMESPACE}/services/s{n}") for n in range(16)])
    assert {answer.status for answer in gone} == {200}
    left = ask(servers[0], "GET", "/apis/networking.k8s.io/v1/ipaddresses").json["items"]
    assert [each["metadata"]["name"] for each in left] == ["10.0.0.1"]


def test_a_put_that_saw_the_other_server_s_write_succeeds(servers: Servers) -> None:
    body = {"metadata": {"name": "seen"}, "data": {"n": "0"}}
    obj = ask(servers[0], "POST", f"{NAMESPACE}/configmaps", body).json
    for turn in range(1, 12):
        obj["data"]["n"] = str(turn)
        answer = ask(servers[turn % 2], "PUT", f"{NAMESPACE}/configmaps/seen", obj)
        assert answer.status == 200, answer.body
        obj = answer.json


def test_a_token_names_its_account(servers: Servers) -> None:
    account = ask(servers[0], "POST", f"{NAMESPACE}/serviceaccounts", {"metadata": {"name": "robot"}}).json
    answer = ask(servers[1], "POST", f"{NAMESPACE}/serviceaccounts/robot/token", {"spec": {"expirationSeconds": 700}})
    assert answer.status == 201
    header, payload, signature = answer.json["status"]["token"].split(".")
    claims = json.loads(base64.urlsafe_b64decode(payload + "=="))
    assert claims["sub"] == "system:serviceaccount:default:robot"
    assert claims["kubernetes.io"]["serviceaccount"] == {"name": "robot", "uid": account["metadata"]["uid"]}
    assert claims["exp"] - claims["iat"] == 700
    assert json.loads(base64.urlsafe_b64decode(header + "=="))["alg"] in ("RS256", "ES256")
    assert signature


def first_of(server: ApiServer, path: str) -> Any:
    """The first event of a watch."""
    connection = http.client.HTTPSConnection(
        "127.0.0.1", server.port, context=ssl.create_default_context(cafile=str(server.ca_file)), timeout=60
    )
    with contextlib.closing(connection):
        connection.request("GET", path, headers={"Authorization": f"Bearer {server.token}"})
        with connection.getresponse() as response:
            return json.loads(response.readline())


def test_events_expire() -> None:
    """On each of several servers, a fixed time after the last write; other objects stay."""
    about = {"involvedObject": {"namespace": "default"}, "metadata": {"name": "e"}, "reason": "Test"}
    with (
        EmbeddedEtcd() as etcd,
        api_server("--event-ttl=3s", etcd_servers=etcd.endpoint) as one,
        api_server("--event-ttl=3s", etcd_servers=etcd.endpoint) as other,
    ):
        patched = None
        while patched is None or patched.status == 404:  # on a busy machine it may have expired
            assert ask(one, "POST", f"{NAMESPACE}/events", about).status == 201
            patched = ask(other, "PATCH", f"{NAMESPACE}/events/e", {"count": 2}, headers=MERGE)
        assert patched.status == 200
        version = patched.json["metadata"]["resourceVersion"]
        assert ask(one, "POST", f"{NAMESPACE}/configmaps", {"metadata": {"name": "stays"}}).status == 201
        for server in (one, other):
            told = first_of(server, f"{NAMESPACE}/events?watch=1&resourceVersion={version}")
            assert (told["type"], told["object"]["metadata"]["name"]) == ("DELETED", "e")
            assert ask(server, "GET", f"{NAMESPACE}/events/e").status == 404
            assert ask(server, "GET", f"{NAMESPACE}/configmaps/stays").status == 200


def test_a_log_of_a_pod_on_no_node_is_empty(servers: Servers) -> None:
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    assert ask(servers[0], "POST", f"{NAMESPACE}/pods", pod).status == 201
    assert ask(servers[0], "GET", f"{NAMESPACE}/pods/p/log").body == b""
    answer = ask(servers[0], "GET", f"{NAMESPACE}/pods/p/log?container=x")
    assert (answer.status, answer.json["message"]) == (400, "container x is not valid for pod p")
    answer = ask(servers[0], "GET", f"{NAMESPACE}/services/none/proxy/index.html")
    assert answer.status == (404 if DEFAULT == "1.36" else 503)


def test_who_am_i(servers: Servers) -> None:
    answer = ask(servers[0], "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {})
    assert answer.status == 201
    assert "system:masters" in answer.json["status"]["userInfo"]["groups"]
    review = {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}
    answer = ask(servers[0], "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review)
    assert answer.json["status"]["allowed"] is True
