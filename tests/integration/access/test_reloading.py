"""CA bundles for clients and service account keys are read again after a change; old certificates and tokens are
refused.
"""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from apiserver_gateway.testing import ApiServer
from apiserver_gateway.testing import ask as administer
from gateway.access.keys import new_key
from gateway.access.signing_authority import new_request, now, read_authority
from gateway.credentials.certificates import new_authority
from tests.forked import api_server
from tests.integration.access.conftest import write
from tests.integration.server.client import ask
from tests.until import until


class Authority:
    """A CA for clients."""

    def __init__(self, directory: Path, name: str) -> None:
        made = new_authority()
        self._files = directory / f"{name}.crt", directory / f"{name}.key"
        for file, content in zip(self._files, (made.certificate, made.key), strict=True):
            file.write_bytes(content)
        self.certificate = made.certificate.decode()

    def client(self, user: str) -> Path:
        """The path of a file with a client's certificate and key."""
        request, key = new_request(user, [])
        usages = ("digital signature", "client auth")
        pem = read_authority(*self._files).sign(request, usages, timedelta(hours=1), now())
        file = self._files[0].with_name(f"{self._files[0].stem}-{user}.pem")
        file.write_bytes(pem + key)
        return file


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reloading")


@pytest.fixture(scope="module")
def authorities(directory: Path) -> tuple[Authority, Authority]:
    return Authority(directory, "one"), Authority(directory, "other")


@pytest.fixture(scope="module")
def server(directory: Path, authorities: tuple[Authority, Authority]) -> Iterator[ApiServer]:
    write(directory / "clients.crt", authorities[0].certificate)
    (directory / "signing.pem").write_bytes(new_key())
    write(directory / "keys.pem", (directory / "signing.pem").read_text())
    with api_server(
        f"--client-ca-file={directory / 'clients.crt'}",
        f"--service-account-signing-key-file={directory / 'signing.pem'}",
        f"--service-account-key-file={directory / 'keys.pem'}",
    ) as running:
        yield running


def connection(server: ApiServer, certificate: Path) -> http.client.HTTPSConnection:
    context = ssl.create_default_context(cafile=str(server.ca_file))
    context.load_cert_chain(certificate)
    return http.client.HTTPSConnection("127.0.0.1", server.port, context=context, timeout=60)


def user(connected: http.client.HTTPSConnection) -> str:
    """The user of a connection; "" if it is refused at any stage."""
    headers = {"Content-Type": "application/json"}
    try:
        connected.request("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", b"{}", headers)
        answer = connected.getresponse()
        found = json.loads(answer.read())
    except (OSError, http.client.HTTPException):
        connected.close()
        return ""
    return str(found["status"]["userInfo"]["username"]) if answer.status == 201 else ""


def test_another_ca_of_clients(server: ApiServer, directory: Path, authorities: tuple[Authority, Authority]) -> None:
    one, other = (each.client("ada") for each in authorities)
    kept = connection(server, one)
    assert user(kept) == "ada"
    assert user(connection(server, other)) == ""
    write(directory / "clients.crt", authorities[1].certificate)
    until(lambda: user(connection(server, other)) == "ada")
    assert user(connection(server, one)) == ""
    assert user(kept) == ""  # a connection is closed when its CA is no longer trusted
    told = administer(server, "GET", "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication")
    assert authorities[0].certificate.strip() in told["data"]["client-ca-file"]


def test_other_keys_of_service_accounts(server: ApiServer, directory: Path) -> None:
    path = "/api/v1/namespaces/kube-system/serviceaccounts"
    administer(server, "POST", path, {"metadata": {"name": "robot"}})
    token = administer(server, "POST", f"{path}/robot/token", {"spec": {}})["status"]["token"]

    def status() -> int:
        return ask(server, "GET", path, token=token).status

    assert status() == 403
    kept = (directory / "keys.pem").read_text()
    write(directory / "keys.pem", new_key().decode())
    until(lambda: status() == 401)
    write(directory / "keys.pem", kept)
    until(lambda: status() == 403)
