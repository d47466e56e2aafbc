"""What is in progress when a control plane is deleted: it ends, and leaves nothing."""

from __future__ import annotations

import json
import socket
import ssl
from contextlib import suppress

import pytest

from apiserver_gateway.testing import ApiServer, Cluster, Refused, ask
from apiserver_gateway.testing.clusters import PATH, made
from storage.etcd import EtcdClient
from tests.conftest import PATIENCE
from tests.integration.clusters.test_isolation import account_token
from tests.integration.clusters.test_life import MAPS, ROOT, absent
from tests.integration.server.client import ask as raw
from tests.until import until

DISCOVERY = "/.well-known/openid-configuration"


def uid_of(server: ApiServer, cluster: Cluster) -> str:
    return str(ask(server, "GET", f"{PATH}/{cluster.name}")["metadata"]["uid"])


async def test_a_write_after_another_process_has_removed_the_keys_is_not_made(
    server: ApiServer, etcd: EtcdClient
) -> None:
    with server.cluster() as cluster:
        ask(cluster, "GET", MAPS)
        root = ROOT + uid_of(server, cluster).encode() + b"/"
        await etcd.delete(root + b"apiserver-gateway/made")
        with pytest.raises(Refused, match=r"404.*has been deleted"):
            ask(cluster, "POST", MAPS, {"metadata": {"name": "late"}})
        assert await etcd.get(root + b"configmaps/default/late") is None


def test_a_request_in_progress_is_reset(server: ApiServer) -> None:
    cluster = made(server)
    context = ssl.create_default_context(cafile=str(server.ca_file))
    head = f"POST /clusters/{cluster.name}{MAPS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {cluster.token}\r\n"
    ask(cluster, "GET", MAPS)
    with (
        socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as connection,
    ):
        connection.sendall(f"{head}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{{".encode())
        cluster.delete()  # while the rest of the body never comes
        with suppress(ConnectionResetError):
            assert connection.recv(4096) == b""
    until(lambda: absent(server, cluster.name))


def test_the_issuer_of_a_name_that_is_used_again_is_another(server: ApiServer) -> None:
    def issuer(place: Cluster) -> str:
        return str(ask(place, "GET", DISCOVERY)["issuer"])

    first = made(server, "reused")
    token, before, uid = account_token(first), issuer(first), uid_of(server, first)
    first.delete()
    until(lambda: absent(server, "reused"))
    second = made(server, "reused")
    ask(second, "GET", MAPS)
    assert raw(server, "GET", f"/clusters/reused{MAPS}", token=token).status == 401
    assert issuer(second) != before and before.endswith(f"/clusters/reused/{uid}")
    found = raw(server, "GET", f"/clusters/reused/{uid_of(server, second)}{DISCOVERY}", token=second.token)
    assert json.loads(found.body)["issuer"] == issuer(second), (
        "a client of the issuer finds its document below its name"
    )
    assert raw(server, "GET", f"/clusters/reused/{uid}{DISCOVERY}", token=second.token).status == 404
    second.delete()
