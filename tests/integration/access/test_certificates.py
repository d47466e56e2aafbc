"""Certificate requests are approved and signed by the built-in signers, and the signed certificates authenticate
users.
"""

from __future__ import annotations

import base64
import json
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.x509.oid import NameOID

from apiserver_gateway.testing import ApiServer, wait_for
from apiserver_gateway.testing import ask as administer
from gateway.access.signing_authority import new_request
from tests.forked import api_server
from tests.integration.server.client import ask

REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
CLIENT = "kubernetes.io/kube-apiserver-client"
KUBELET = "kubernetes.io/kube-apiserver-client-kubelet"
TOKENS = 'joining-token,joining,1,"system:bootstrappers"\n'


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    file = tmp_path_factory.mktemp("tokens") / "tokens.csv"
    file.write_text(TOKENS)
    with api_server(f"--token-auth-file={file}") as running:
        administer(
            running,
            "POST",
            "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
            {
                "metadata": {"name": "joining"},
                "roleRef": {
                    "apiGroup": "rbac.authorization.k8s.io",
                    "kind": "ClusterRole",
                    "name": "system:certificates.k8s.io:certificatesigningrequests:nodeclient",
                },
                "subjects": [
                    {"kind": "Group", "apiGroup": "rbac.authorization.k8s.io", "name": "system:bootstrappers"}
                ],
            },
        )
        administer(
            running,
            "POST",
            "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
            {
                "metadata": {"name": "bootstrapping"},
                "roleRef": {
                    "apiGroup": "rbac.authorization.k8s.io",
                    "kind": "ClusterRole",
                    "name": "system:node-bootstrapper",
                },
                "subjects": [
                    {"kind": "Group", "apiGroup": "rbac.authorization.k8s.io", "name": "system:bootstrappers"}
                ],
            },
        )
        yield running


def request(name: str, signer: str, user: str, *groups: str, **spec: Any) -> tuple[dict[str, Any], bytes]:
    asked, key = new_request(user, groups)
    pem = asked.public_bytes(serialization.Encoding.PEM)
    usages = ["digital signature", "client auth"]
    body = {"request": base64.b64encode(pem).decode(), "signerName": signer, "usages": usages, **spec}
    return {"metadata": {"name": name}, "spec": body}, key


def approve(server: ApiServer, name: str) -> None:
    obj = administer(server, "GET", f"{REQUESTS}/{name}")
    condition = {"type": "Approved", "status": "True", "reason": "Test", "message": ""}
    obj["status"] = {"conditions": [condition]}
    administer(server, "PUT", f"{REQUESTS}/{name}/approval", obj)


def signed(server: ApiServer, name: str) -> bytes:
    def has_certificate(obj: Any) -> bool:
        return bool((obj.get("status") or {}).get("certificate"))

    found = wait_for(server, f"{REQUESTS}/{name}", has_certificate)
    return base64.b64decode(found["status"]["certificate"])


def who(server: ApiServer, directory: Path, certificate: bytes, key: bytes) -> Any:
    """The user of a client certificate."""
    import http.client

    file = directory / "client.pem"
    file.write_bytes(certificate + key)
    context = ssl.create_default_context(cafile=str(server.ca_file))
    context.load_cert_chain(file)
    connection = http.client.HTTPSConnection("127.0.0.1", server.port, context=context, timeout=60)
    try:
        connection.request(
            "POST",
            "/apis/authentication.k8s.io/v1/selfsubjectreviews",
            json.dumps({"kind": "SelfSubjectReview"}),
            {"Content-Type": "application/json"},
        )
        return json.load(connection.getresponse())["status"]["userInfo"]
    finally:
        connection.close()


def test_an_approved_request_is_signed(server: ApiServer, tmp_path: Path) -> None:
    body, key = request("ada", CLIENT, "ada", "people", "others", expirationSeconds=3600)
    administer(server, "POST", REQUESTS, body)
    approve(server, "ada")
    certificate = signed(server, "ada")
    found = x509.load_pem_x509_certificate(certificate)
    assert found.not_valid_after_utc.timestamp() - found.not_valid_before_utc.timestamp() == 3600 + 300
    user = who(server, tmp_path, certificate, key)
    assert (user["username"], user["groups"]) == ("ada", ["others", "people", "system:authenticated"])  # a set, sorted


def test_a_certificate_is_written_as_kube_controller_manager_writes_it(server: ApiServer) -> None:
    found = certificate_for(server, "ordered", "C=DE,O=b,OU=unit,DC=example,CN=first,O=a,CN=ada")
    parts = [sorted(each.rfc4514_string() for each in rdn) for rdn in found.subject.rdns]
    assert parts == [["C=DE"], ["O=a", "O=b"], ["OU=unit"], ["CN=ada"]]  # in the order of Go's pkix.Name
    names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    assert [type(each) for each in names.value] == [x509.DNSName, x509.UniformResourceIdentifier]
    assert not names.critical


def test_a_certificate_of_nobody_has_critical_alternative_names(server: ApiServer) -> None:
    found = certificate_for(server, "nobody", "DC=example")
    assert not found.subject.rdns
    assert found.extensions.get_extension_for_class(x509.SubjectAlternativeName).critical


def certificate_for(server: ApiServer, name: str, subject: str) -> x509.Certificate:
    """A signed certificate for a subject, whose order is kept, with alternative names of three kinds."""
    asked = x509.CertificateSigningRequestBuilder(x509.Name(reversed(x509.Name.from_rfc4514_string(subject).rdns)))
    others = [x509.RegisteredID(NameOID.USER_ID), x509.UniformResourceIdentifier("a:b"), x509.DNSName("host")]
    asked = asked.add_extension(x509.SubjectAlternativeName(others), critical=False)
    pem = asked.sign(ec.generate_private_key(ec.SECP256R1()), SHA256()).public_bytes(serialization.Encoding.PEM)
    body, _ = request(name, CLIENT, "nobody", request=base64.b64encode(pem).decode())
    administer(server, "POST", REQUESTS, body)
    approve(server, name)
    return x509.load_pem_x509_certificate(signed(server, name))


def test_a_kubelet_s_request_is_approved_by_itself(server: ApiServer, tmp_path: Path) -> None:
    body, key = request("kubelet", KUBELET, "system:node:a", "system:nodes")
    assert ask(server, "POST", REQUESTS, body, token="joining-token").status == 201
    user = who(server, tmp_path, signed(server, "kubelet"), key)
    assert user["username"] == "system:node:a"
    [condition] = administer(server, "GET", f"{REQUESTS}/kubelet")["status"]["conditions"]
    assert (condition["type"], condition["reason"]) == ("Approved", "AutoApproved")


def test_what_a_signer_does_not_sign_fails(server: ApiServer) -> None:
    body, _ = request("wrong", CLIENT, "ada", usages=["server auth"])
    administer(server, "POST", REQUESTS, body)
    approve(server, "wrong")

    def has_failed(obj: Any) -> bool:
        return any(each["type"] == "Failed" for each in (obj.get("status") or {}).get("conditions") or ())

    found = wait_for(server, f"{REQUESTS}/wrong", has_failed)
    failed = found["status"]["conditions"][-1]
    assert (failed["reason"], failed["message"]) == (
        "SignerValidationFailure",
        "invalid usage for client certificate: server auth",
    )


def test_a_kubeconfig_of_any_user(server: ApiServer, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "gateway", "kubeconfig", f"--cert-dir={server.ca_file.parent}"]
    command += ["--user=root", "--group=system:masters", f"--server={server.url}", "--expiration=1h"]
    config = json.loads(subprocess.run(command, check=True, capture_output=True, timeout=120).stdout)
    credentials = config["users"][0]["user"]
    pem, key = (base64.b64decode(credentials[f"client-{name}-data"]) for name in ("certificate", "key"))
    assert who(server, tmp_path, pem, key)["groups"] == ["system:masters", "system:authenticated"]
    refused = subprocess.run(
        [*command, "--cert-dir=/no/such"], capture_output=True, text=True, timeout=120, check=False
    )
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr == "apiserver-gateway: cannot use /no/such/ca.crt: No such file or directory\n"


def test_issued_certificates_are_counted_if_a_duration_was_asked_for(server: ApiServer) -> None:
    def counted(what: str) -> int:
        name = f'apiserver_certificates_registry_csr_{what}_duration_total{{signerName="{CLIENT}"}} '
        lines = ask(server, "GET", "/metrics").body.decode().splitlines()
        return sum(int(float(line.removeprefix(name))) for line in lines if line.startswith(name))

    before = counted("requested"), counted("honored")
    for name, asked in (
        ("timed", {"expirationSeconds": 3600}),
        ("untimed", {}),
        ("long", {"expirationSeconds": 2**31 - 1}),
    ):
        administer(server, "POST", REQUESTS, request(name, CLIENT, name, **asked)[0])
        approve(server, name)
        signed(server, name)
    assert (counted("requested"), counted("honored")) == (before[0] + 2, before[1] + 1)
