"""Discovery documents have the encoding that the Accept header asks for, aggregated if it prefers that."""

from __future__ import annotations

import asyncio
import hashlib
from typing import Any

import pytest
import yaml

from gateway.discovery.discovery import Discovery
from gateway.encodings.rendering_process import RenderingProcess
from gateway.encodings.yaml import to_yaml
from gateway.http.exchange import Request, Response
from gateway.http.status import StatusError
from gateway.jsontypes import JsonObject, loads
from gateway.kinds.builtin import builtin_registry
from gateway.schema.catalog import META, type_of
from gateway.schema.protobuf import read_envelope, read_message

PROTOBUF = "application/vnd.kubernetes.protobuf"
V2 = ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
V2_BETA = ";g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"


class Here(RenderingProcess):
    """Renders in this process, and counts."""

    count = 0

    async def yaml(self, source: bytes) -> bytes:
        self.count += 1
        return to_yaml(source)


APART = Here()


@pytest.fixture(scope="module")
def discovery() -> Discovery:
    return Discovery(builtin_registry(), "127.0.0.1:443")


def get(discovery: Discovery, path: str, accept: str, etag: bytes = b"") -> Response:
    async def receive() -> Any: ...

    headers = {b"accept": accept.encode()} | ({b"if-none-match": etag} if etag else {})
    response = asyncio.run(discovery.respond(Request("GET", path, b"", headers, receive), APART))
    assert response is not None
    return response


def body(response: Response) -> bytes:
    assert isinstance(response.body, bytes)
    return response.body


@pytest.mark.parametrize("path", ["/api", "/apis", "/apis/apps", "/api/v1", "/apis/apps/v1"])
def test_a_document_in_protobuf_says_what_it_says_in_json(discovery: Discovery, path: str) -> None:
    document: JsonObject = loads(body(get(discovery, path, "application/json")))
    response = get(discovery, path, PROTOBUF)
    envelope = read_envelope(body(response))
    assert response.content_type == PROTOBUF.encode()
    assert (envelope.api_version, envelope.kind) == (document.get("apiVersion", ""), document["kind"])
    assert pruned(read_message(type_of(META + envelope.kind), envelope.raw)) == pruned(document)


@pytest.mark.parametrize("path", ["/api", "/apis"])
def test_the_aggregated_document_is_the_same_in_all_encodings(discovery: Discovery, path: str) -> None:
    answers = [get(discovery, path, each + V2) for each in ("application/json", PROTOBUF, "application/yaml")]
    assert [each.content_type.decode() for each in answers] == [
        each + V2 for each in ("application/json", PROTOBUF, "application/yaml")
    ]
    envelope = read_envelope(body(answers[1]))
    found = read_message(type_of("io.k8s.api.apidiscovery.v2.APIGroupDiscoveryList"), envelope.raw)
    document = loads(body(answers[0]))
    assert envelope[:2] == ("apidiscovery.k8s.io/v2", "APIGroupDiscoveryList")
    assert pruned(found) == pruned(document)
    assert yaml.safe_load(body(answers[2])) == document
    assert len({dict(each.headers)[b"etag"] for each in answers}) == 1


def test_the_etag_is_the_hash_of_the_list_without_its_kind_and_version(discovery: Discovery) -> None:
    answer = get(discovery, "/api", "application/json" + V2)
    items = body(answer).partition(b'"metadata":{},"items":')[2].removesuffix(b"\n")
    hashed = hashlib.sha512(b'{"metadata":{},"items":' + items).hexdigest().upper()
    assert dict(answer.headers)[b"etag"] == f'"{hashed}"'.encode()


def pruned(value: Any) -> Any:
    """Without kinds and without what is empty."""
    if isinstance(value, dict):
        kept = {key: pruned(item) for key, item in value.items() if key not in ("apiVersion",) and item}
        if "groupVersion" in value or "groups" in value or "items" in value or "versions" in value:
            kept.pop("kind", None)
        return {key: item for key, item in kept.items() if item}
    return [pruned(item) for item in value] if isinstance(value, list) else value


def test_a_client_that_has_the_document_is_told_so(discovery: Discovery) -> None:
    etag = dict(get(discovery, "/api", PROTOBUF + V2).headers)[b"etag"]
    again = get(discovery, "/api", "application/json" + V2, etag)
    assert (again.status, again.body) == (304, b"")


@pytest.mark.parametrize(
    ("path", "accept", "content_type"),
    [
        ("/api", f"application/json{V2_BETA},application/json", "application/json"),
        ("/api", f"{PROTOBUF}{V2_BETA},{PROTOBUF}{V2},application/json", PROTOBUF + V2),
        ("/api", f"*/*{V2}", "application/json" + V2),
        ("/api", f"application/cbor{V2},application/json{V2}", "application/json" + V2),
        ("/api", f"application/json{V2};stream=watch", "application/json" + V2),
        ("/api", f"application/json;q=0.5,{PROTOBUF}", PROTOBUF),
        ("/api", f"text/plain,application/json,application/json{V2}", "application/json" + V2),
        ("/api", f"application/yaml,application/json{V2};q=0.1", "application/json" + V2),
        ("/apis/apps/v1", f"application/json{V2},application/json", "application/json"),
    ],
)
def test_the_best_clause_that_can_be_honoured_counts(
    discovery: Discovery, path: str, accept: str, content_type: str
) -> None:
    assert get(discovery, path, accept).content_type == content_type.encode()


@pytest.mark.parametrize(
    ("path", "accept", "message"),
    [
        ("/api", f"application/json{V2_BETA}", "only the following media types are accepted"),
        ("/apis/apps", f"application/json{V2}", "only the following media types are accepted"),
        ("/api", f"text/html{V2}", "Available representations"),
        ("/api", "application/cbor", "Available representations"),
        ("/apis/apps/v1", "application/json;as=Table;g=meta.k8s.io;v=v1", "only the following media types"),
    ],
)
def test_what_is_not_there_is_not_acceptable(discovery: Discovery, path: str, accept: str, message: str) -> None:
    with pytest.raises(StatusError, match=message) as caught:
        get(discovery, path, accept)
    assert caught.value.code == 406


def test_what_is_long_in_yaml_is_rendered_apart_and_once(discovery: Discovery) -> None:
    accept = f"application/yaml{V2}"
    before = APART.count
    first = body(get(discovery, "/apis", accept))
    assert body(get(discovery, "/apis", accept)) == first
    assert APART.count - before <= 1
    assert len(body(get(discovery, "/apis", f"application/json{V2}"))) > 8192
    assert APART.count >= 1
