"""OpenAPI documents in JSON and protobuf: immutable URLs, ETags, and conditional requests."""

from __future__ import annotations

import gzip

import pytest

from tests.integration.representations.conftest import Client

VERSION_2 = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
VERSION_3 = "application/com.github.proto-openapi.spec.v3@v1.0+protobuf"
ANSWERED = "application/com.github.proto-openapi.spec.v{}.v1.0+protobuf"


@pytest.mark.parametrize(
    ("path", "accept", "content_type"),
    [
        ("/openapi/v2", VERSION_2, ANSWERED.format(2)),
        ("/openapi/v2", f"{VERSION_2};q=0.5,application/json", "application/json"),
        ("/openapi/v3/apis/apps/v1", VERSION_3, ANSWERED.format(3)),
        ("/openapi/v3/apis/apps/v1", "*/*", "application/json"),
    ],
)
def test_documents_have_tags(client: Client, path: str, accept: str, content_type: str) -> None:
    found = client.ask("GET", path, None, accept)
    assert (found.status, found.headers["content-type"]) == (200, content_type)
    again = client.ask("GET", path, None, accept, {"If-None-Match": found.headers["etag"]})
    assert (again.status, again.body) == (304, b"")
    assert found.headers["vary"] == again.headers["vary"]
    assert found.headers["vary"].startswith("Accept")


@pytest.mark.parametrize("path", ["/openapi/v2", "/openapi/v3/api/v1"])
def test_other_forms_are_not_to_be_had(client: Client, path: str) -> None:
    refused = client.ask("GET", path, None, "application/yaml")
    assert (refused.status, refused.body) == (406, b"")


def test_an_address_with_a_hash_may_be_kept_for_ever(client: Client) -> None:
    places = client.ask("GET", "/openapi/v3").json["paths"]
    address = places["apis/batch/v1"]["serverRelativeURL"]
    kept = client.ask("GET", address, None, VERSION_3)
    assert "immutable" in kept.headers["cache-control"]
    moved = client.ask("GET", address.partition("?")[0] + "?hash=ANOTHER")
    assert (moved.status, moved.headers["location"]) == (301, address)


@pytest.mark.parametrize("path", ["/openapi/v3", "/openapi/v2", "/openapi/v3/apis/apps/v1"])
def test_a_part_of_a_document_may_be_asked_for(client: Client, path: str) -> None:
    whole = client.ask("GET", path)
    size = len(whole.body)
    assert whole.headers["accept-ranges"] == "bytes"
    for wanted, part in (("0-9", whole.body[:10]), ("5-", whole.body[5:]), ("-5", whole.body[-5:])):
        found = client.ask("GET", path, None, "*/*", {"Range": f"bytes={wanted}"})
        start = whole.body.index(part) if wanted != "-5" else size - 5
        assert (found.status, found.body) == (206, part)
        assert found.headers["content-range"] == f"bytes {start}-{start + len(part) - 1}/{size}"
    for wrong, status in (("bytes=99999999-", 416), ("lines=1", 416), ("bytes=5-2", 416), ("bytes=-", 416)):
        assert client.ask("GET", path, None, "*/*", {"Range": wrong}).status == status
    several = client.ask("GET", path, None, "*/*", {"Range": "bytes=0-1,3-4"})
    assert (several.status, several.body) == (200, whole.body), "which the RFC allows"


def test_version_2_is_packed_for_who_accepts_that(client: Client) -> None:
    plain = client.ask("GET", "/openapi/v2")
    packed = client.ask("GET", "/openapi/v2", None, "*/*", {"Accept-Encoding": "gzip"})
    assert packed.headers["content-encoding"] == "gzip"
    assert gzip.decompress(packed.body) == plain.body
    assert packed.headers["etag"] == plain.headers["etag"]
