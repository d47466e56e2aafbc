"""A list as gzip is equal to the list, also if parts were compressed for others or before a change."""

from __future__ import annotations

import gzip
import json

import pytest

from tests.forked import api_server
from tests.integration.representations.conftest import Client
from tests.integration.server.client import ask


@pytest.mark.parametrize("accept", ["application/json", "application/vnd.kubernetes.protobuf", "application/yaml"])
def test_a_list_as_gzip_is_the_list(client: Client, accept: str) -> None:
    path, data = f"{client.configmaps}/c050", {"k": "x" * 5000}
    for number in range(150):
        body = {"metadata": {"name": f"c{number:03d}"}, "data": data}
        assert client.ask("POST", client.configmaps, json.dumps(body).encode()).status == 201
    for tick in ("", "a", "b", "c"):
        if tick:
            changed = {"metadata": {"name": "c050"}, "data": data | {"tick": tick}}
            assert client.ask("PUT", path, json.dumps(changed).encode()).status == 200
        for query in ("", "?limit=100"):
            for _ in range(3):
                compare(client, client.configmaps + query, accept)


def compare(client: Client, path: str, accept: str) -> None:
    """The resourceVersion of a list is ignored: the server's own writes change it."""
    for _ in range(20):
        plain = client.ask("GET", path, None, accept)
        packed = client.ask("GET", path, None, accept, {"Accept-Encoding": "gzip"})
        assert packed.headers["content-encoding"] == "gzip"
        if gzip.decompress(packed.body) == plain.body:
            return
    pytest.fail("the list as gzip is another one")


def test_without_the_gate_only_openapi_v2_and_metrics_are_compressed() -> None:
    with api_server("--controllers=-*", "--feature-gates=APIResponseCompression=false") as server:
        large = {"metadata": {"name": "large"}, "data": {"k": "x" * 200_000}}
        path = "/api/v1/namespaces/default/configmaps"
        assert ask(server, "POST", path, large).status == 201
        for asked, packed in ((path, False), (f"{path}/large", False), ("/openapi/v2", True), ("/metrics", True)):
            found = ask(server, "GET", asked, headers={"Accept": "*/*", "Accept-Encoding": "gzip"})
            assert (asked, "content-encoding" in found.headers) == (asked, packed)
