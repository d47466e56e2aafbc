"""A certificate that a control plane signs is good in this control plane alone: each test tries to use it elsewhere."""

from __future__ import annotations

import http.client
import json
import ssl
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from apiserver_gateway.testing import ApiServer, Cluster, Refused, ask, condition, wait_for
from apiserver_gateway.testing.clusters import PATH, made
from gateway.access.signing_authority import load_authority, new_request, now
from tests.integration.access.test_certificates import CLIENT, KUBELET, REQUESTS, approve, request, signed
from tests.integration.clusters.test_isolation import WHO
from tests.integration.clusters.test_life import absent
from tests.integration.clusters.test_templates import copy
from tests.until import until

SERVING = "kubernetes.io/kubelet-serving"
SECRETS = "/api/v1/namespaces/kube-system/secrets"


@dataclass(frozen=True, slots=True)
class Shown:
    """A client that shows a certificate on one connection, which is kept between requests."""

    connection: http.client.HTTPSConnection

    def who(self, place: str, headers: Mapping[str, str] | None = None) -> str | int:
        """The user name at a place, such as "/clusters/one"; the status if there is no answer for a user."""
        sent = {"Content-Type": "application/json", **(headers or {})}
        self.connection.request("POST", f"{place}{WHO}", json.dumps({"kind": "SelfSubjectReview"}), sent)
        answer = self.connection.getresponse()
        body = answer.read()
        return str(json.loads(body)["status"]["userInfo"]["username"]) if answer.status == 201 else answer.status

    def status(self, path: str) -> int:
        self.connection.request("GET", path)
        answer = self.connection.getresponse()
        answer.read()
        return answer.status


def showing(server: ApiServer, directory: Path, certificate: bytes, key: bytes) -> Shown:
    file = directory / "client.pem"
    file.write_bytes(certificate + key)
    context = ssl.create_default_context(cafile=str(server.ca_file))
    context.load_cert_chain(file)
    return Shown(http.client.HTTPSConnection("127.0.0.1", server.port, context=context, timeout=60))


def certificate_of(cluster: Cluster, user: str, *groups: str, signer: str = CLIENT, **spec: Any) -> tuple[bytes, bytes]:
    """A certificate that the control plane has signed, and its key."""
    name = f"request-{user.rpartition(':')[2]}"
    body, key = request(name, signer, user, *groups, **spec)
    ask(cluster, "POST", REQUESTS, body)
    if signer != KUBELET:  # a controller approves it
        approve(cluster, name)  # type: ignore[arg-type]  # a control plane is asked as a server is
    return signed(cluster, name), key  # type: ignore[arg-type]


def test_its_user_is_known_to_its_control_plane_alone(
    server: ApiServer, one: Cluster, other: Cluster, tmp_path: Path
) -> None:
    shown = showing(server, tmp_path, *certificate_of(one, "carol", "devs"))
    for _ in range(2):
        for place, expected in (("", 401), ("/clusters/one", "carol"), ("/clusters/other", 401)):
            assert shown.who(place) == expected, place


def test_masters_of_a_certificate_are_those_of_its_control_plane(
    server: ApiServer, one: Cluster, other: Cluster, tmp_path: Path
) -> None:
    body, _ = request("masters", CLIENT, "mallory", "system:masters")
    with pytest.raises(Refused, match="system:masters"):
        ask(one, "POST", REQUESTS, body)
    own = secret_of(server, "one")
    authority = load_authority(b64decode(own["client-ca.crt"]), b64decode(own["client-ca.key"]))
    asked, key = new_request("mallory", ["system:masters"])
    shown = showing(server, tmp_path, authority.sign(asked, ["client auth"], timedelta(hours=1), now()), key)
    secrets = "/api/v1/secrets"
    assert shown.status(f"/clusters/one{secrets}") == 200
    assert shown.status(secrets) == shown.status(f"/clusters/other{secrets}") == 401


@pytest.mark.parametrize("name", ["front-proxy-client", "apiserver-gateway"])
def test_it_makes_nobody_a_front_proxy(server: ApiServer, tmp_path: Path, name: str) -> None:
    with server.cluster() as cluster:
        shown = showing(server, tmp_path, *certificate_of(cluster, name))
        as_another = {"X-Remote-User": "admin", "X-Remote-Group": "system:masters"}
        assert shown.who("", as_another) == 401
        assert shown.who(f"/clusters/{cluster.name}", as_another) == name


def test_a_visitor_is_not_who_has_the_name_in_another_control_plane(server: ApiServer, tmp_path: Path) -> None:
    visited = {"apiVersion": "apiserver-gateway.dev/v1alpha1", "kind": "ControlPlane", "metadata": {"name": "to-visit"}}
    ask(server, "POST", PATH, {**visited, "spec": {"admins": {"users": ["dora"], "groups": ["devs"]}}})
    wait_for(server, f"{PATH}/to-visit", condition("Ready"))
    with server.cluster() as cluster:
        shown = showing(server, tmp_path, *certificate_of(cluster, "dora", "devs"))
        assert shown.who("/clusters/to-visit") == shown.who("") == 401
        assert shown.who(f"/clusters/{cluster.name}") == "dora"
    ask(server, "DELETE", f"{PATH}/to-visit")


def test_a_new_control_plane_of_the_name_does_not_know_it(server: ApiServer, tmp_path: Path) -> None:
    with server.cluster("made-anew") as former:
        shown = showing(server, tmp_path, *certificate_of(former, "erin"))
        assert shown.who("/clusters/made-anew") == "erin"
    until(lambda: absent(server, "made-anew"))
    with server.cluster("made-anew") as present:
        ask(present, "GET", "/api/v1/namespaces")
        assert shown.who("/clusters/made-anew") == 401
        assert shown.who("") == 401


def test_a_copy_of_a_template_does_not_know_it(server: ApiServer, tmp_path: Path) -> None:
    with server.cluster() as template:
        shown = showing(server, tmp_path, *certificate_of(template, "frank"))
        found, of_template = copy(server, template.name, "copied"), secret_of(server, template.name)
        for each in ("client-ca.crt", "client-ca.key"):
            assert found[each] and found[each] != of_template[each]
        assert shown.who("/clusters/copied") == 401
        assert shown.who(f"/clusters/{template.name}") == "frank"
    ask(server, "DELETE", f"{PATH}/copied")


def test_certificates_of_kubelets_are_signed_by_its_own_ca(server: ApiServer, tmp_path: Path) -> None:
    with server.cluster() as cluster:
        shown = showing(server, tmp_path, *certificate_of(cluster, "system:node:n", "system:nodes", signer=KUBELET))
        assert shown.who(f"/clusters/{cluster.name}") == "system:node:n"
        assert shown.who("") == 401
        asked, _ = new_request("system:node:n", ["system:nodes"], ["localhost"])
        wanted = b64encode(asked.public_bytes(Encoding.PEM)).decode()
        certificate, _ = certificate_of(
            cluster, "serving", signer=SERVING, usages=["digital signature", "server auth"], request=wanted
        )
        found = x509.load_pem_x509_certificate(certificate)
        uid = ask(server, "GET", f"{PATH}/{cluster.name}")["metadata"]["uid"]
        assert found.issuer.rfc4514_string() == f"CN=control-plane-{uid}"
        own = x509.load_pem_x509_certificate(b64decode(secret_of(server, cluster.name)["client-ca.crt"]))
        found.verify_directly_issued_by(own)


def secret_of(server: ApiServer, name: str) -> dict[str, str]:
    data: dict[str, str] = ask(server, "GET", f"{SECRETS}/control-plane-{name}")["data"]
    return data


def test_a_control_plane_of_an_earlier_version_gets_a_ca(server: ApiServer, tmp_path: Path) -> None:
    cluster = made(server)
    try:
        secret = ask(server, "GET", f"{SECRETS}/control-plane-{cluster.name}")
        former = {name: secret["data"].pop(name) for name in ("client-ca.crt", "client-ca.key")}
        ask(server, "PUT", f"{SECRETS}/control-plane-{cluster.name}", secret)
        described = ask(server, "GET", f"{PATH}/{cluster.name}")
        described["metadata"]["labels"] = {"changed": "yes"}
        ask(server, "PUT", f"{PATH}/{cluster.name}", described)
        until(lambda: "client-ca.key" in secret_of(server, cluster.name))
        assert not former.items() & secret_of(server, cluster.name).items()
        shown = showing(server, tmp_path, *certificate_of(cluster, "grace"))
        assert shown.who(f"/clusters/{cluster.name}") == "grace"
    finally:
        cluster.delete()
