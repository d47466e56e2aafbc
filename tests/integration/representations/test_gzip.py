"""A list as gzip is equal to the list, also if parts were compressed for others or before a change."""

from __future__ import annotations

import gzip
import json

import pytest

from tests.integration.representations.conftest import Client


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
