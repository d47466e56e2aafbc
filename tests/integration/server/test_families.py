"""A server on :: or 0.0.0.0 serves IPv4 and IPv6, and records an IPv4 client by its IPv4 address."""

from __future__ import annotations

import http.client
import socket
import ssl
from pathlib import Path

import pytest

from apiserver_gateway.testing import ApiServer, api_server
from tests.logged import documents

pytestmark = pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="no IPv6 here")

POLICY = '{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [{"level": "Metadata"}]}'


def audited(server: ApiServer, host: str, log: Path) -> list[str]:
    """The sourceIPs in the audit event of a request to one of the server's addresses."""
    context = ssl.create_default_context(cafile=str(server.ca_file))
    connection = http.client.HTTPSConnection(host, server.port, timeout=60, context=context)
    name = host.replace(":", "x")
    try:
        connection.request("GET", f"/apis/{name}", headers={"Authorization": f"Bearer {server.token}"})
        assert connection.getresponse().status == 404
    finally:
        connection.close()
    return next(each["sourceIPs"] for each in documents(log) if each["requestURI"] == f"/apis/{name}")


@pytest.mark.parametrize(
    ("flags", "local"),
    [(["--bind-address=0.0.0.0"], "127.0.0.1"), (["--bind-address=::", "--workers=2"], "[::1]")],
)
def test_both_families_are_served_and_told_apart(flags: list[str], local: str, tmp_path: Path) -> None:
    (policy := tmp_path / "policy").write_text(POLICY)
    log = tmp_path / "audit.log"
    with api_server(*flags, f"--audit-policy-file={policy}", f"--audit-log-path={log}") as server:
        assert server.url == f"https://{local}:{server.port}"
        assert f'"server": "{server.url}"' in server.kubeconfig.read_text()
        assert audited(server, "127.0.0.1", log) == ["127.0.0.1"]
        assert audited(server, "::1", log) == ["::1"]
