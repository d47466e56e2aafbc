"""Ways out of a control plane by what its administrator writes in it: each test tries one."""

from __future__ import annotations

import base64
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer, Cluster, ask, condition, install, wait_for
from tests.forked import api_server
from tests.integration.clusters.test_isolation import NAMESPACES, PLANES, account_token, hook, status, who
from tests.integration.clusters.test_life import MAPS
from tests.integration.server.client import Answer
from tests.integration.server.client import ask as raw
from tests.logged import documents
from tests.until import until

DEFINITION = "controlplanes.apiserver-gateway.dev"
LEGACY = "kubernetes.io/service-account-token"
SYSTEM = "/api/v1/namespaces/kube-system"
ENDPOINTS = "/api/v1/namespaces/default/endpoints"
REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
HOOKS = f"{ADMISSION}/validatingwebhookconfigurations"


def inside(cluster: Cluster, method: str, path: str, body: Any = None, **more: Any) -> Answer:
    """The answer of a control plane to its administrator."""
    place = f"/clusters/{cluster.name}{path}"
    return raw(cluster.server, method, place, body, token=cluster.token, **more)  # type: ignore[arg-type]


@contextmanager
def closed_port() -> Iterator[int]:
    """A port of this host without a listener; the test keeps it reserved."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


def without(answer: Answer, *ports: int) -> tuple[int, str]:
    """What an answer tells, apart from the numbers of ports."""
    text = answer.json["message"]
    for port in ports:
        text = text.replace(str(port), "PORT")
    return answer.status, text


def make_node(cluster: Cluster, name: str, address: str) -> None:
    ask(cluster, "POST", "/api/v1/nodes", {"metadata": {"name": name}})
    addresses = {"status": {"addresses": [{"type": "InternalIP", "address": address}]}}
    ask(cluster, "PUT", f"/api/v1/nodes/{name}/status", {**ask(cluster, "GET", f"/api/v1/nodes/{name}"), **addresses})


@pytest.mark.parametrize("address", ["127.0.0.1", "own"])
def test_a_node_does_not_tell_which_ports_are_open(server: ApiServer, address: str) -> None:
    with server.cluster() as cluster, closed_port() as closed:
        make_node(cluster, "n", address if address != "own" else own_address())
        told = []
        for scheme in ("https", "http"):
            for port in (server.port, closed):
                told.append(without(inside(cluster, "GET", f"/api/v1/nodes/{scheme}:n:{port}/proxy/api"), port))
        assert len(set(told)) == 1, told


def own_address() -> str:
    """An address of an interface of this host that is not loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing
        except OSError:
            pytest.skip("this host has no route to other hosts")
        found: str = probe.getsockname()[0]
    return found


def furnish_service(cluster: Cluster, port: int) -> None:
    """A service whose endpoints are a port of this host."""
    ports = [{"name": "p", "port": port, "protocol": "TCP"}]
    ask(cluster, "POST", "/api/v1/namespaces/default/services", {"metadata": {"name": "s"}, "spec": {"ports": ports}})
    meta = {"name": "s-1", "labels": {"kubernetes.io/service-name": "s"}}
    body = {"metadata": meta, "addressType": "IPv4", "ports": ports, "endpoints": [{"addresses": ["127.0.0.1"]}]}
    found = inside(cluster, "POST", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", body)
    assert found.status == 422, "kube-apiserver refuses loopback addresses, too"
    body["endpoints"] = [{"addresses": [own_address()]}]
    ask(cluster, "POST", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", body)


def test_a_service_does_not_tell_which_ports_are_open(server: ApiServer) -> None:
    told = set()
    with closed_port() as closed:
        for port in (server.port, closed):
            with server.cluster() as cluster:
                furnish_service(cluster, port)
                found = inside(cluster, "GET", f"/api/v1/namespaces/default/services/https:s:{port}/proxy/api")
                told.add(without(found, port))
    assert len(told) == 1 and told.pop()[0] >= 400


def test_an_api_service_does_not_tell_which_ports_are_open(server: ApiServer) -> None:
    told = set()
    with closed_port() as closed:
        for port in (server.port, closed):
            with server.cluster() as cluster:
                furnish_service(cluster, port)
                spec = {"group": "g.example.com", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1}
                spec |= {"insecureSkipTLSVerify": True, "service": {"name": "s", "namespace": "default", "port": port}}
                ask(cluster, "POST", SERVICES, {"metadata": {"name": "v1.g.example.com"}, "spec": spec})
                found = wait_for(cluster, f"{SERVICES}/v1.g.example.com", condition("Available", "False"))
                said = next(each for each in found["status"]["conditions"] if each["type"] == "Available")
                message = said["message"].replace(str(port), "PORT").replace(cluster.name, "NAME")
                for address in (found_address(cluster), own_address()):
                    message = message.replace(address, "ADDRESS")
                told.add((said["reason"], message))
                assert inside(cluster, "GET", "/apis/g.example.com/v1/things").status == 503
    assert len(told) == 1, told


def found_address(cluster: Cluster) -> str:
    found: str = ask(cluster, "GET", "/api/v1/namespaces/default/services/s")["spec"]["clusterIP"]
    return found


SPELLINGS = "0.0.0.0", "127.1", "2130706433", "0x7f.0.0.1", "017700000001", "[::]", "[::1]", "[::ffff:7f00:1]", "own"


@pytest.mark.parametrize("host", SPELLINGS)
def test_no_spelling_of_this_host_is_called(server: ApiServer, host: str) -> None:
    with server.cluster() as cluster, closed_port() as closed:
        told = set()
        for port in (server.port, closed):
            body = hook(f"https://{own_address() if host == 'own' else host}:{port}/api")
            body["metadata"]["name"] = f"h-{port}"
            ask(cluster, "POST", HOOKS, body)
            found = inside(cluster, "POST", ENDPOINTS, {"metadata": {"name": "e"}})
            assert found.status == 500, found.body
            told.add(without(found, port))
            ask(cluster, "DELETE", f"{HOOKS}/h-{port}")
        assert len(told) == 1, told


def test_a_review_of_a_token_knows_own_users_only(server: ApiServer, one: Cluster, other: Cluster) -> None:
    places: dict[str, ApiServer | Cluster] = {"": server, "one": one, "other": other}
    tokens = {name: (place.token, account_token(place)) for name, place in places.items()}
    for name, place in places.items():
        for of, shown in tokens.items():
            for token in shown:
                reviewed = ask(place, "POST", REVIEWS, {"spec": {"token": token}})["status"]
                assert bool(reviewed.get("authenticated")) is (of == name), (name, of)
                assert of == name or not reviewed.get("user"), reviewed


def test_a_token_for_the_audience_of_another_is_nobody_there(server: ApiServer, one: Cluster, other: Cluster) -> None:
    account_token(one)
    for audience in (issuer(other), issuer(server)):
        path = "/api/v1/namespaces/default/serviceaccounts/default/token"
        token = ask(one, "POST", path, {"spec": {"audiences": [audience, issuer(one)]}})["status"]["token"]
        assert status(server, f"/clusters/one{NAMESPACES}", token) == 403
        assert status(server, f"/clusters/other{NAMESPACES}", token) == status(server, NAMESPACES, token) == 401


def issuer(place: ApiServer | Cluster) -> str:
    found: str = ask(place, "GET", "/.well-known/openid-configuration")["issuer"]
    return found


def test_the_issuer_of_another_is_not_described(server: ApiServer, one: Cluster, other: Cluster) -> None:
    own, theirs = (ask(server, "GET", f"{PLANES}/{each.name}")["metadata"]["uid"] for each in (one, other))
    for uid, answered in ((own, True), (theirs, False), (f"{own}/..", False), ("..", False)):
        found = raw(server, "GET", f"/clusters/one/{uid}/.well-known/openid-configuration", token=one.token)
        assert (found.status == 200 and found.json.get("issuer") == issuer(one)) is answered, (uid, found.body)


def test_a_token_in_a_secret_is_good_in_its_own_only(server: ApiServer, one: Cluster, other: Cluster) -> None:
    wait_for(one, "/api/v1/namespaces/default/serviceaccounts/default", bool)
    meta = {"name": "legacy", "annotations": {"kubernetes.io/service-account.name": "default"}}
    ask(one, "POST", "/api/v1/namespaces/default/secrets", {"metadata": meta, "type": LEGACY})
    path = "/api/v1/namespaces/default/secrets/legacy"
    found = wait_for(one, path, lambda obj: "token" in (obj.get("data") or {}))
    token = base64.b64decode(found["data"]["token"]).decode()
    assert status(server, f"/clusters/one{NAMESPACES}", token) == 403
    assert status(server, f"/clusters/other{NAMESPACES}", token) == status(server, NAMESPACES, token) == 401


def test_a_token_in_a_subprotocol_is_good_in_its_own_only(server: ApiServer, one: Cluster, other: Cluster) -> None:
    encoded = base64.urlsafe_b64encode(one.token.encode()).rstrip(b"=").decode()
    tunnel = {
        "connection": "Upgrade",
        "upgrade": "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
        "sec-websocket-protocol": f"base64url.bearer.authorization.k8s.io.{encoded}, base64.binary.k8s.io",
    }
    for below in ("/clusters/other", ""):
        assert status(server, f"{below}{MAPS}?watch=true", None, headers=tunnel) == 401


def test_a_kind_of_the_name_makes_no_control_plane(server: ApiServer, one: Cluster) -> None:
    """The group and the plural are those of the root's ControlPlane objects."""
    definition = ask(server, "GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/" + DEFINITION)
    install(one, {**{key: definition[key] for key in ("apiVersion", "kind", "spec")}, "metadata": {"name": DEFINITION}})
    made = {"apiVersion": "apiserver-gateway.dev/v1alpha1", "kind": "ControlPlane", "metadata": {"name": "forged"}}
    ask(one, "POST", PLANES, {**made, "spec": {"template": "other"}})
    assert raw(server, "GET", f"{PLANES}/forged").status == 404
    assert raw(server, "GET", "/clusters/forged/api", token=one.token).status == 404
    assert raw(server, "GET", f"/clusters/one/clusters/forged{NAMESPACES}", token=one.token).status == 404


NAMES = "..", ".", "..%2F..%2Fother", "%2e%2e", "a%2Fb", "..%5c..", "%00", "a%0ab"


@pytest.mark.parametrize("name", NAMES)
def test_no_name_leads_to_keys_of_another(server: ApiServer, one: Cluster, other: Cluster, name: str) -> None:
    ask(other, "POST", MAPS, {"metadata": {"generateName": "theirs-"}, "data": {"k": "not-for-one"}})
    uid = ask(server, "GET", f"{PLANES}/other")["metadata"]["uid"]
    for path in (
        f"/api/v1/namespaces/{name}/configmaps",
        f"/api/v1/namespaces/{name}%2F{uid}/configmaps",
        f"{MAPS}/{name}",
        f"/apis/{name}/v1/configmaps",
        f"/api/v1/namespaces/default/{name}",
    ):
        found = inside(one, "GET", path)
        assert b"not-for-one" not in found.body, path
        made = inside(one, "PUT", path, {"metadata": {"name": name}, "data": {"k": "from-one"}})
        assert made.status >= 300, path
    assert "from-one" not in str(ask(other, "GET", "/api/v1/configmaps"))


@pytest.fixture(scope="module")
def bootstrapped() -> Iterator[ApiServer]:
    """A server that accepts bootstrap tokens."""
    with api_server("--control-planes", "--enable-bootstrap-token-auth") as running:
        until(lambda: raw(running, "GET", PLANES).status == 200)
        yield running


def test_a_bootstrap_token_is_good_in_its_own_only(bootstrapped: ApiServer) -> None:
    token = "abcdef.0123456789abcdef"
    with bootstrapped.cluster("one") as one, bootstrapped.cluster("other") as other:
        data = {"token-id": "abcdef", "token-secret": "0123456789abcdef", "usage-bootstrap-authentication": "true"}
        data |= {"auth-extra-groups": "system:bootstrappers:kubeadm:default-node-token"}
        body = {"metadata": {"name": "bootstrap-token-abcdef"}, "type": "bootstrap.kubernetes.io/token"}
        ask(one, "POST", f"{SYSTEM}/secrets", {**body, "stringData": data})
        assert who(bootstrapped, "/clusters/one", token)["username"] == "system:bootstrap:abcdef"
        ask(other, "GET", NAMESPACES)
        for below in ("/clusters/other", ""):
            assert status(bootstrapped, f"{below}{NAMESPACES}", token) == 401, below


AUDITED = """
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
  resources: [{group: "", resources: [configmaps]}]
  verbs: [create]
"""


def test_a_policy_does_not_name_another_control_plane_in_the_audit_log(tmp_path: Path) -> None:
    """The key of an annotation of a policy is its name, and what the policy says after it."""
    policy, log = tmp_path / "policy.yaml", tmp_path / "audit.log"
    policy.write_text(AUDITED)
    flags = f"--audit-policy-file={policy}", f"--audit-log-path={log}"
    with api_server("--control-planes", *flags) as server, server.cluster("one") as one:
        rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
        told = [{"key": "control-plane", "valueExpression": "'other'"}, {"key": "seen", "valueExpression": "'yes'"}]
        spec = {"matchConstraints": {"resourceRules": [rule]}, "auditAnnotations": told, "failurePolicy": "Fail"}
        named = {"metadata": {"name": "apiserver-gateway.dev"}}
        ask(one, "POST", f"{ADMISSION}/validatingadmissionpolicies", {**named, "spec": spec})
        bound = {"policyName": "apiserver-gateway.dev", "validationActions": ["Audit"]}
        ask(one, "POST", f"{ADMISSION}/validatingadmissionpolicybindings", {**named, "spec": bound})
        annotations: list[dict[str, str]] = []

        def seen() -> bool:
            ask(one, "POST", MAPS, {"metadata": {"generateName": "forged-"}})
            annotations[:] = [each["annotations"] for each in documents(log)]
            return any("apiserver-gateway.dev/seen" in each for each in annotations)

        until(seen)
        assert {each["apiserver-gateway.dev/control-plane"] for each in annotations} == {"one"}
