"""With --control-planes-domain, the host of a request names a control plane. It proves nothing."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer, Cluster, ask
from apiserver_gateway.testing.clusters import PATH, made
from gateway.access.signing_authority import new_request, now, read_authority
from tests.forked import api_server
from tests.integration.clusters.test_isolation import NAMESPACES, REVIEW, WHO, account_token
from tests.integration.server.client import PATIENCE, Answer
from tests.until import until

DOMAIN = "planes.example"


@pytest.fixture(scope="module")
def server() -> Iterator[ApiServer]:
    with api_server("--control-planes", f"--control-planes-domain={DOMAIN}") as running:
        yield running


@pytest.fixture(scope="module")
def one(server: ApiServer) -> Cluster:
    return made(server, "one")


@pytest.fixture(scope="module")
def other(server: ApiServer) -> Cluster:
    return made(server, "other")


class Connection(http.client.HTTPSConnection):
    """A connection to the server by a name that no name server knows; the certificate must be of `shown`."""

    def __init__(self, server: ApiServer, shown: str, certificate: Any = None) -> None:
        self._trusting = ssl.create_default_context(cafile=str(server.ca_file))
        if certificate is not None:
            self._trusting.load_cert_chain(*certificate)
        super().__init__(shown, server.port, timeout=PATIENCE, context=self._trusting)

    def connect(self) -> None:
        plain = socket.create_connection(("127.0.0.1", self.port), PATIENCE)
        self.sock = self._trusting.wrap_socket(plain, server_hostname=self.host)


def raw(
    server: ApiServer,
    host: str,
    path: str,
    token: str = "",
    *,
    shown: str = "",
    hosts: tuple[str, ...] = (),
    **more: Any,
) -> Answer:
    """Sends a request whose Host header is `host`, on a connection to `shown`: the same host, unless it is given."""
    connection = Connection(server, shown or host.partition(":")[0], more.get("certificate"))
    try:
        connection.putrequest(more.get("method", "GET"), path, skip_host=True)
        for each in (host, *hosts):
            connection.putheader("Host", each)
        if token:
            connection.putheader("Authorization", f"Bearer {token}")
        body = json.dumps(more["body"]).encode() if "body" in more else b""
        connection.putheader("Content-Type", "application/json")
        connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        response = connection.getresponse()
        return Answer(response.status, {}, response.read())
    finally:
        connection.close()


def test_a_host_is_a_control_plane(server: ApiServer, one: Cluster, other: Cluster) -> None:
    ask(one, "POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "of-one"}})
    for cluster in (one, other):
        for host in (f"{cluster.name}.{DOMAIN}", f"{cluster.name}.{DOMAIN}:{server.port}"):
            found = raw(server, host, "/api/v1/namespaces/default/configmaps", cluster.token)
            names = [each["metadata"]["name"] for each in json.loads(found.body)["items"]]
            assert found.status == 200 and ("of-one" in names) == (cluster is one)


def test_the_object_and_the_kubeconfig_say_the_host(server: ApiServer, one: Cluster) -> None:
    url = f"https://one.{DOMAIN}:{server.port}"
    assert ask(server, "GET", f"{PATH}/one")["status"]["url"] == url
    assert url in one.kubeconfig.read_text()
    assert ask(one, "GET", "/.well-known/openid-configuration")["jwks_uri"] == f"{url}/openid/v1/jwks"


@pytest.mark.parametrize("host", ["ONE." + DOMAIN, f"one.{DOMAIN.upper()}", f"one.{DOMAIN}."])
def test_a_name_of_hosts_has_no_case(server: ApiServer, one: Cluster, host: str) -> None:
    assert raw(server, host, NAMESPACES, one.token, shown="localhost").status == 200


@pytest.mark.parametrize(
    "host",
    [
        *(DOMAIN, f"a.one.{DOMAIN}", f".{DOMAIN}", f"one-.{DOMAIN}", f"one.{DOMAIN}.evil.example", f"one{DOMAIN}"),
        *(
            f"one.{DOMAIN}:a",
            f"one.{DOMAIN}/",
            f"one.{DOMAIN}@localhost",
            f"on%65.{DOMAIN}",
            f"one.{DOMAIN}, localhost",
        ),
        *("one.planesxexample", "127.0.0.1", f"one.{DOMAIN}\x00"),
    ],
)
def test_another_host_is_of_the_root(server: ApiServer, one: Cluster, host: str) -> None:
    assert raw(server, host, NAMESPACES, one.token, shown="localhost").status in (400, 401)


def test_several_hosts_are_of_no_control_plane(server: ApiServer, one: Cluster) -> None:
    for hosts in ((f"one.{DOMAIN}", "localhost"), ("localhost", f"one.{DOMAIN}"), (f"one.{DOMAIN}", f"one.{DOMAIN}")):
        found = raw(server, hosts[0], NAMESPACES, one.token, shown="localhost", hosts=hosts[1:])
        assert found.status in (400, 401)


def test_a_host_proves_nothing(server: ApiServer, one: Cluster, other: Cluster) -> None:
    """Tokens of one control plane are 401 at all others, whatever the connection, the host and the path say."""
    tokens = {"one": one.token, "other": other.token, "": server.token}
    accounts = {"one": account_token(one), "other": account_token(other), "": account_token(server)}
    for shown in (f"one.{DOMAIN}", f"other.{DOMAIN}", "localhost"):
        for place, host in (("one", f"one.{DOMAIN}"), ("other", f"other.{DOMAIN}"), ("", "localhost")):
            for of in tokens:
                found = raw(server, host, NAMESPACES, tokens[of], shown=shown).status
                assert found == (200 if of == place else 401), (shown, host, of)
                found = raw(server, host, NAMESPACES, accounts[of], shown=shown).status
                assert found == (403 if of == place else 401), (shown, host, of)


def test_a_connection_remembers_nobody_across_hosts(server: ApiServer, one: Cluster, other: Cluster) -> None:
    connection = Connection(server, f"one.{DOMAIN}")
    try:
        for host, token, status in [
            *((f"one.{DOMAIN}", one.token, 200), (f"other.{DOMAIN}", one.token, 401), ("localhost", one.token, 401)),
            *((f"other.{DOMAIN}", other.token, 200), (f"one.{DOMAIN}", other.token, 401)),
            *(("localhost", server.token, 200), (f"one.{DOMAIN}", server.token, 401)),
        ]:
            headers = {"Host": host, "Authorization": f"Bearer {token}"}
            connection.request("GET", NAMESPACES, headers=headers)
            answer = connection.getresponse()
            answer.read()
            assert answer.status == status, host
    finally:
        connection.close()


def test_within_a_host_no_path_leads_to_another_control_plane(server: ApiServer, one: Cluster, other: Cluster) -> None:
    for path in (f"/clusters/other{NAMESPACES}", f"/clusters/one{NAMESPACES}", f"/../clusters/other{NAMESPACES}"):
        assert raw(server, f"one.{DOMAIN}", path, other.token).status in (301, 401)
        found = raw(server, f"one.{DOMAIN}", path, one.token)
        assert found.status in (301, 404) and b"kube-system" not in found.body


def client_certificate(server: ApiServer, directory: Path, user: str, group: str) -> list[Path]:
    """A certificate that the root's CA has signed, and its key."""
    request, key = new_request(user, [group])
    own = server.ca_file.parent
    signer = read_authority(own / "ca.crt", own / "ca.key")
    certificate = signer.sign(request, ("digital signature", "client auth"), timedelta(hours=1), now())
    paths = [directory / "client.crt", directory / "client.key"]
    for path, content in zip(paths, (certificate, key), strict=True):
        path.write_bytes(content)
    return paths


def test_a_client_certificate_of_the_root_is_nobody_there(server: ApiServer, one: Cluster, tmp_path: Path) -> None:
    shown = client_certificate(server, tmp_path, "mallory", "system:masters")
    found = raw(server, f"one.{DOMAIN}", NAMESPACES, certificate=shown)
    assert found.status in (401, 403)
    assert raw(server, "localhost", WHO, method="POST", body=REVIEW, certificate=shown).status == 201


def test_a_name_that_does_not_exist_is_not_found(server: ApiServer) -> None:
    until(lambda: raw(server, f"absent.{DOMAIN}", "/api", server.token).status == 404)
