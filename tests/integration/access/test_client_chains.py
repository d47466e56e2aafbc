"""Client certificates of intermediate and of unknown CAs: they are verified after the TLS handshake, by each CA
bundle.
"""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from apiserver_gateway.testing import ApiServer
from tests.forked import api_server
from tests.integration.access.conftest import write
from tests.unit.access.test_certificate_chains import Made, made
from tests.until import until

REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
CLIENTS, PROXIES = made("clients", ca=True), made("proxies", ca=True)
BETWEEN = made("between", CLIENTS, ca=True)


def pem(*found: Made) -> bytes:
    return b"".join(each.certificate.public_bytes(Encoding.PEM) for each in found)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("chains")


@pytest.fixture(scope="module")
def server(directory: Path) -> Iterator[ApiServer]:
    (directory / "clients.crt").write_bytes(pem(CLIENTS))
    (directory / "proxies.crt").write_bytes(pem(PROXIES))
    with api_server(
        f"--client-ca-file={directory / 'clients.crt'}", f"--requestheader-client-ca-file={directory / 'proxies.crt'}"
    ) as running:
        yield running


class Client:
    """A connection with a client certificate; the certificates of its intermediate CAs are sent, too."""

    def __init__(self, server: ApiServer, directory: Path, of: Made, *beside: Made) -> None:
        file = directory / f"{of.certificate.serial_number}.pem"
        key = of.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        file.write_bytes(pem(of, *beside) + key)
        self._context = ssl.create_default_context(cafile=str(server.ca_file))
        self._context.load_cert_chain(file)
        self._port = server.port

    def who(self, token: str = "", headers: dict[str, str] | None = None) -> Any:
        """The user's name, or the status of the refusal."""
        connection = http.client.HTTPSConnection("127.0.0.1", self._port, context=self._context, timeout=60)
        said = {"Content-Type": "application/json", **(headers or {})}
        try:
            connection.request("POST", REVIEWS, b"{}", said | ({"Authorization": f"Bearer {token}"} if token else {}))
            answer = connection.getresponse()
            found = json.loads(answer.read())
            return found["status"]["userInfo"]["username"] if answer.status == 201 else answer.status
        finally:
            connection.close()


def test_a_ca_between_is_sent_by_the_client(server: ApiServer, directory: Path) -> None:
    assert Client(server, directory, made("bob", made("between", CLIENTS, ca=True))).who() == 401  # it is not sent
    bob = Client(server, directory, made("bob", BETWEEN), BETWEEN)
    assert bob.who() == "bob"
    gone, back = pem(PROXIES).decode(), pem(CLIENTS).decode()
    write(directory / "clients.crt", gone)
    until(lambda: bob.who() == 401)
    write(directory / "clients.crt", back + "\n")
    until(lambda: bob.who() == "bob")


def test_each_pool_has_its_own_clients(server: ApiServer, directory: Path) -> None:
    named = {"X-Remote-User": "ada", "X-Remote-Group": "system:masters"}
    between = made("front between", PROXIES, ca=True)
    assert Client(server, directory, made("front", between), between).who(headers=named) == "ada"
    assert Client(server, directory, made("front", BETWEEN), BETWEEN).who(headers=named) == "front"
    assert Client(server, directory, made("front", made("proxies", ca=True))).who(headers=named) == 401


def test_a_strangers_certificate_is_nothing_beside_a_good_token(server: ApiServer, directory: Path) -> None:
    over = made("eve", CLIENTS, until=-timedelta(minutes=5))
    for stranger in (made("eve"), made("eve", made("clients", ca=True)), over):
        client = Client(server, directory, stranger)
        assert client.who() == 401
        assert client.who("wrong") == 401
        assert client.who(server.token) == "kubernetes-admin"
