"""Flags with a small effect on answers: one server with all of them."""

from __future__ import annotations

import base64
import json
import socket
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from apiserver_gateway.testing import ApiServer, wait_for
from gateway.access.signing_authority import new_request
from gateway.credentials.certificates import issue, new_authority
from tests.forked import api_server
from tests.integration.server.client import ask, connect

PODS, ACCOUNTS = "/api/v1/namespaces/default/pods", "/api/v1/namespaces/default/serviceaccounts"
REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
KEYS = "https://keys.example.com/openid/v1/jwks"


@pytest.fixture(scope="module")
def kubelet_port() -> Iterator[int]:
    """A port that is reserved, and at which no server listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place, made = tmp_path_factory.mktemp("signing"), new_authority()
    (place / "ca.crt").write_bytes(made.certificate)
    (place / "ca.key").write_bytes(made.key)
    certificate, key = issue(made, ["named.example.org"])
    (place / "own.crt").write_bytes(certificate)
    (place / "own.key").write_bytes(key)
    return place


@pytest.fixture(scope="module")
def server(directory: Path, kubelet_port: int) -> Iterator[ApiServer]:
    with api_server(
        f"--service-account-jwks-uri={KEYS}",
        "--api-audiences=this-api",
        "--service-account-extend-token-expiration=false",
        "--enable-garbage-collector=false",
        "--delete-collection-workers=2",
        f"--kubelet-port={kubelet_port}",
        "--kubelet-preferred-address-types=Hostname",
        f"--cluster-signing-cert-file={directory / 'ca.crt'}",
        f"--cluster-signing-key-file={directory / 'ca.key'}",
        "--cluster-signing-duration=1h",
        "--goaway-chance=0.02",
        "--disable-admission-plugins=ServiceAccount",
        "--external-hostname=api.example.org",
        "--request-timeout=4s",
        "--min-request-timeout=1",
        "--default-not-ready-toleration-seconds=7",
        "--default-unreachable-toleration-seconds=8",
        r"--cors-allowed-origins=^https://ui\.example\.org$",
        "--strict-transport-security-directives=max-age=60,includeSubDomains",
        f"--tls-sni-cert-key={directory / 'own.crt'},{directory / 'own.key'}",
        f"--tls-sni-cert-key={directory / 'own.crt'},{directory / 'own.key'}:explicit.example.org,*.wild.example.org",
    ) as running:
        yield running


def made(server: ApiServer, path: str, obj: Any) -> Any:
    answer = ask(server, "POST", path, obj)
    assert answer.status in (200, 201), answer.body
    return answer.json


def pod(name: str, **spec: Any) -> Any:
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


def token(server: ApiServer, account: str, **spec: Any) -> str:
    """A token for a new service account."""
    made(server, ACCOUNTS, {"metadata": {"name": account}})
    found = made(server, f"{ACCOUNTS}/{account}/token", {"spec": {"audiences": [], **spec}})
    return str(found["status"]["token"])


def claims(text: str) -> Any:
    part = text.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


def test_discovery_tells_where_the_keys_are(server: ApiServer) -> None:
    assert ask(server, "GET", "/.well-known/openid-configuration").json["jwks_uri"] == KEYS


def test_tokens_are_for_the_audiences_of_the_api(server: ApiServer) -> None:
    assert claims(token(server, "audience"))["aud"] == ["this-api"]


def test_tokens_of_pods_are_not_extended(server: ApiServer) -> None:
    owner = made(server, PODS, pod("owner", serviceAccountName="bound"))
    bound = {"kind": "Pod", "apiVersion": "v1", "name": "owner", "uid": owner["metadata"]["uid"]}
    found = claims(token(server, "bound", expirationSeconds=3607, boundObjectRef=bound))
    assert found["exp"] - found["iat"] == 3607 and "warnafter" not in found["kubernetes.io"]


def test_nobody_collects_garbage_before_a_deletion(server: ApiServer) -> None:
    made(server, "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "alone"}})
    path = "/api/v1/namespaces/default/configmaps/alone"
    assert ask(server, "DELETE", f"{path}?propagationPolicy=Foreground").status == 200
    assert ask(server, "GET", path).status == 404


def test_kubelets_are_dialled_by_the_address_and_port_that_the_flags_say(server: ApiServer, kubelet_port: int) -> None:
    addresses = [{"type": "InternalIP", "address": "192.0.2.1"}, {"type": "Hostname", "address": "127.0.0.1"}]
    made(server, "/api/v1/nodes", {"metadata": {"name": "n"}, "status": {"addresses": addresses}})
    made(server, PODS, pod("running", nodeName="n"))
    answer = ask(server, "GET", f"{PODS}/running/log")
    assert answer.status == 500 and f"127.0.0.1:{kubelet_port}" in answer.json["message"]


def test_certificates_are_of_the_ca_and_the_time_that_the_flags_say(server: ApiServer, directory: Path) -> None:
    asked, _ = new_request("ada", [])
    pem = base64.b64encode(asked.public_bytes(serialization.Encoding.PEM)).decode()
    spec = {"request": pem, "signerName": "kubernetes.io/kube-apiserver-client"}
    obj = made(server, REQUESTS, {"metadata": {"name": "ada"}, "spec": {**spec, "usages": ["client auth"]}})
    obj["status"] = {"conditions": [{"type": "Approved", "status": "True", "reason": "Test"}]}
    assert ask(server, "PUT", f"{REQUESTS}/ada/approval", obj).status == 200
    found = wait_for(server, f"{REQUESTS}/ada", lambda each: bool(each["status"].get("certificate")))
    certificate = x509.load_pem_x509_certificate(base64.b64decode(found["status"]["certificate"]))
    authority = x509.load_pem_x509_certificate((directory / "ca.crt").read_bytes())
    certificate.verify_directly_issued_by(authority)
    assert certificate.not_valid_after_utc - datetime.now(UTC) <= timedelta(hours=1)


def test_a_collection_is_deleted_by_some_at_a_time(server: ApiServer) -> None:
    for number in range(30):
        labels = {"metadata": {"name": f"many-{number}", "labels": {"some": "many"}}}
        made(server, "/api/v1/namespaces/default/configmaps", labels)
    path = "/api/v1/namespaces/default/configmaps?labelSelector=some%3Dmany"
    assert ask(server, "DELETE", path).status == 200
    assert ask(server, "GET", path).json["items"] == []


def test_now_and_then_a_connection_is_ended(server: ApiServer) -> None:
    endings = (ask(server, "GET", "/readyz").headers.get("connection") for _ in range(2000))
    assert "close" in endings


def test_clients_are_told_the_name_of_outside(server: ApiServer) -> None:
    (told,) = ask(server, "GET", "/api").json["serverAddressByClientCIDRs"]
    assert told["serverAddress"] == f"api.example.org:{server.port}"


def test_pods_stay_as_long_on_a_bad_node_as_the_flags_say(server: ApiServer) -> None:
    tolerations = made(server, PODS, pod("tolerant"))["spec"]["tolerations"]
    assert {each["key"].rpartition("/")[2]: each["tolerationSeconds"] for each in tolerations} == {
        "not-ready": 7,
        "unreachable": 8,
    }


def test_a_body_that_is_not_there_in_time(server: ApiServer) -> None:
    connection = connect(server)
    connection.putrequest("POST", "/api/v1/namespaces/default/configmaps")
    for header in (("Authorization", f"Bearer {server.token}"), ("Content-Type", "application/json")):
        connection.putheader(*header)
    connection.putheader("Content-Length", "10000")
    connection.endheaders(b"{")
    answer = connection.getresponse()
    assert answer.status == 504 and json.load(answer)["reason"] == "Timeout"
    connection.close()


def test_a_watch_ends_by_itself(server: ApiServer) -> None:
    assert ask(server, "GET", "/api/v1/namespaces?watch=true").status == 200, "else it lasts longer than the client"


@pytest.mark.parametrize("origin", ["https://ui.example.org", "https://ui.example.org.evil.example"])
def test_pages_of_some_origins_may_ask(server: ApiServer, origin: str) -> None:
    asked = ask(server, "OPTIONS", "/api/v1/namespaces", token=None, headers={"Origin": origin})
    read = [ask(server, "GET", path, headers={"Origin": origin}) for path in ("/api/v1/namespaces/default", "/readyz")]
    if origin.endswith(".evil.example"):
        assert asked.status == 403
        assert not any("access-control-allow-origin" in each.headers for each in (asked, *read))
        return
    assert asked.status == 204 and "PATCH" in asked.headers["access-control-allow-methods"]
    assert [each.status for each in read] == [200, 200]
    for each in (asked, *read):
        assert each.headers["access-control-allow-origin"] == origin
        assert each.headers["access-control-allow-credentials"] == "true"


def test_browsers_are_told_to_insist_on_tls(server: ApiServer) -> None:
    for path in ("/api/v1/namespaces", "/readyz", "/nothing"):
        answer = ask(server, "GET", path)
        assert answer.headers["strict-transport-security"] == "max-age=60; includeSubDomains"


def test_who_asks_for_a_name_is_shown_its_certificate(server: ApiServer, directory: Path) -> None:
    own = x509.load_pem_x509_certificate((directory / "own.crt").read_bytes())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    shown = []
    for label in ("named", "EXPLICIT", "a.wild", "a.b.wild", "other"):
        with (
            socket.create_connection(("127.0.0.1", server.port)) as plain,
            context.wrap_socket(plain, server_hostname=f"{label}.example.org") as tls,
        ):
            shown.append(x509.load_der_x509_certificate(tls.getpeercert(binary_form=True) or b""))
    said = f"{[(each.subject, each.issuer, each.serial_number) for each in shown]} of {own.serial_number}"
    assert [each == own for each in shown] == [True, True, True, False, False], said
