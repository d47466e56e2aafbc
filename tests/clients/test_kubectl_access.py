"""kubectl auth can-i, create token, --as, auth reconcile, and a client certificate."""

from __future__ import annotations

import base64
import datetime as dt
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from apiserver_gateway.testing import ApiServer, wait_for
from gateway.access.signing_authority import new_request
from tests.clients.command import Kubectl
from tests.clients.conftest import _program
from tests.forked import api_server

ROBOT = "system:serviceaccount:{}:robot"


def test_what_one_may_do_is_told_and_done(kubectl: Kubectl) -> None:
    robot = ROBOT.format(kubectl.namespace)
    kubectl("create", "serviceaccount", "robot")
    assert "pods is forbidden" in kubectl.run("get", "pods", f"--as={robot}").stderr
    kubectl("create", "role", "reader", "--verb=get,list", "--resource=pods")
    kubectl("create", "rolebinding", "reader", "--role=reader", f"--serviceaccount={kubectl.namespace}:robot")
    assert kubectl("auth", "can-i", "list", "pods", f"--as={robot}").strip() == "yes"
    assert kubectl.run("auth", "can-i", "delete", "pods", f"--as={robot}").stdout.strip() == "no"
    rights = kubectl("auth", "can-i", "--list", f"--as={robot}").splitlines()
    assert any(line.split()[0] == "pods" and "[get list]" in line for line in rights)
    assert any("selfsubjectaccessreviews.authorization.k8s.io" in line for line in rights)
    kubectl("get", "pods", f"--as={robot}")


def test_a_token_is_its_accounts(kubectl: Kubectl, server: ApiServer, home: Path) -> None:
    kubectl("create", "serviceaccount", "robot")
    token = kubectl("create", "token", "robot").strip()
    bare = [f"--server={server.url}", f"--certificate-authority={server.ca_file}", f"--token={token}"]
    nobody = Kubectl(kubectl.program, home / "none", home, kubectl.namespace)
    shown = nobody("auth", "whoami", "-o", "jsonpath={.status.userInfo.username}", *bare)
    assert shown == ROBOT.format(kubectl.namespace)
    kubectl("delete", "serviceaccount", "robot")
    assert nobody.run("auth", "whoami", *bare).returncode != 0


def test_roles_are_reconciled(kubectl: Kubectl) -> None:
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": "reader", "namespace": kubectl.namespace},
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
    }
    kubectl("auth", "reconcile", "-f", "-", given=role)
    role["rules"] = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "watch"]}]
    kubectl("auth", "reconcile", "-f", "-", given=role)
    assert "watch" in kubectl("get", "role", "reader", "-o", "yaml")


def test_a_certificate_is_asked_for_approved_and_used(kubectl: Kubectl, server: ApiServer, home: Path) -> None:
    pem, key = _asked_for(kubectl, "eve", "readers")
    refused, _ = _asked_for(kubectl, "mallory", "readers")
    assert kubectl.get("csr", pem)["status"] == {}
    assert "Approved,Issued" not in kubectl("get", "csr", pem)
    kubectl("certificate", "approve", pem)
    kubectl("certificate", "deny", refused)
    kubectl("wait", f"csr/{pem}", "--for=jsonpath={.status.certificate}", "--timeout=120s")
    assert "Approved,Issued" in kubectl("get", "csr", pem)
    assert "Denied" in kubectl("get", "csr", refused)
    certificate = home / "eve.crt"
    certificate.write_bytes(base64.b64decode(kubectl.get("csr", pem)["status"]["certificate"]))
    (home / "eve.key").write_bytes(key)
    eve = Kubectl(kubectl.program, home / "none", home, kubectl.namespace)
    shown = [f"--server={server.url}", f"--certificate-authority={server.ca_file}"]
    shown += [f"--client-certificate={certificate}", f"--client-key={home / 'eve.key'}"]
    found = json.loads(eve("auth", "whoami", "-o", "json", *shown))["status"]["userInfo"]
    assert (found["username"], found["groups"]) == ("eve", ["readers", "system:authenticated"])
    kubectl("delete", "csr", pem, refused)


def _asked_for(kubectl: Kubectl, user: str, group: str) -> tuple[str, bytes]:
    """Creates a request for a client certificate. Returns its name, and the key."""
    request, key = new_request(user, [group])
    content = base64.b64encode(request.public_bytes(serialization.Encoding.PEM)).decode()
    spec = {"request": content, "signerName": "kubernetes.io/kube-apiserver-client", "usages": ["client auth"]}
    name = f"{user}-{kubectl.namespace}"
    kind = {"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest"}
    kubectl("create", "-f", "-", given=kind | {"metadata": {"name": name}, "spec": spec})
    return name, key


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, ApiServer]]:
    """A server that trusts client certificates of a CA, and the directory of that CA."""
    directory = tmp_path_factory.mktemp("ca")
    key = ec.generate_private_key(ec.SECP256R1())
    _certificate(directory / "ca", "ca", "", key, key)
    _certificate(directory / "ada", "ada", "readers", ec.generate_private_key(ec.SECP256R1()), key)
    with api_server(f"--client-ca-file={directory / 'ca.crt'}") as server:
        view = "/apis/rbac.authorization.k8s.io/v1/clusterroles/view"
        wait_for(server, view, lambda role: bool(role.get("rules")))  # a controller aggregates them
        yield directory, server


def test_a_certificate_names_user_and_groups(authority: tuple[Path, ApiServer], home: Path) -> None:
    directory, server = authority
    administrator = Kubectl(_program("kubectl"), server.kubeconfig, home, "default")
    ada = Kubectl(administrator.program, home / "none", home, "default")
    shown = [f"--server={server.url}", f"--certificate-authority={server.ca_file}"]
    shown += [f"--client-certificate={directory / 'ada.crt'}", f"--client-key={directory / 'ada.key'}"]
    assert 'User "ada" cannot list' in ada.run("get", "configmaps", *shown).stderr
    administrator("create", "clusterrolebinding", "readers", "--clusterrole=view", "--group=readers")
    ada("get", "configmaps", *shown)


def _certificate(
    path: Path, name: str, organization: str, key: ec.EllipticCurvePrivateKey, authority: ec.EllipticCurvePrivateKey
) -> None:
    """Writes a certificate signed by the CA, and its key. With the same key twice, it is the CA's own certificate."""
    attributes = [x509.NameAttribute(NameOID.COMMON_NAME, name)]
    attributes += [x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization)] if organization else []
    start = dt.datetime.now(dt.UTC) - dt.timedelta(hours=1)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(x509.Name(attributes))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "ca")]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + dt.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=key is authority, path_length=None), critical=True)
        .sign(authority, hashes.SHA256())
    )
    path.with_suffix(".crt").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    path.with_suffix(".key").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
