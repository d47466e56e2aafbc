"""OpenAPI documents in JSON and protobuf: addresses that never change, tags, and what is asked for anew."""

from __future__ import annotations

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
    assert found.headers["vary"] == again.headers["vary"] == "Accept"


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
