"""Answers are encoded again only if the client asked for it, and compressed only if it pays."""

import gzip
import json
from typing import Any

import pytest
import yaml

from gateway.encodings.encoder import Encoder, EndpointFacts
from gateway.encodings.json import JsonEncoder
from gateway.encodings.list_meta import ListMeta
from gateway.encodings.pretty_json import indent
from gateway.encodings.registry import encoder_for
from gateway.encodings.representation import represented
from gateway.http.compression import THRESHOLD, accepts_gzip, compressed
from gateway.http.exchange import Request, Response
from gateway.http.negotiation import STANDARD
from gateway.http.status import not_found
from gateway.kinds.columns.registry import columns_of
from gateway.schema.catalog import type_of
from storage.entry import Entry

OBJECT = b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"3","uid":"u","name":"c","labels":{}}}\n'


def request_with(**headers: bytes) -> Request:
    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    return Request(
        "GET", "/", b"", {name.replace("_", "-").encode(): value for name, value in headers.items()}, receive
    )


def test_indented_objects_keep_the_order_of_the_answer() -> None:
    text = indent(OBJECT).decode()
    assert json.loads(text) == json.loads(OBJECT)
    assert list(json.loads(text)["metadata"]) == list(json.loads(OBJECT)["metadata"])
    assert text.startswith("{\n  ")
    assert not text.endswith("\n")


def shape() -> EndpointFacts:
    return EndpointFacts(
        kind="Pod",
        api_version="v1",
        head=b'{"kind":"Pod","apiVersion":"v1",',
        list_head=b'{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"',
        empty=lambda: b',"spec":{}}',
        type=lambda: type_of("io.k8s.api.core.v1.Pod"),
        columns=lambda: columns_of("", "Pod"),
        in_version=lambda obj, version: obj,
    )


ENTRIES = [
    Entry(b"/a", b"", b'"metadata":{"name":"a","labels":{}},"data":{"x":"line\\nitems: []\\n"}}', 1),
    Entry(b"/b", b"", b'"metadata":{}}', 2),
    Entry(b"/c", b"", b'"metadata":{},"n":[]}', 3),
]


async def test_yaml_is_made_of_the_json_answer() -> None:
    request = request_with()
    request.representation = STANDARD.negotiate(b"application/yaml", "get")
    answer = await represented(
        request.representation, Response(200, OBJECT), lambda: encoder_for(request.representation, shape())
    )
    assert answer.content_type == b"application/yaml"
    assert isinstance(answer.body, bytes)
    assert yaml.safe_load(answer.body)["metadata"]["name"] == "c"


@pytest.mark.parametrize("accept", [b"application/yaml", b"application/json;pretty=1", b"application/json"])
def test_a_list_made_item_by_item_reads_as_one_that_is_whole(accept: bytes) -> None:
    encoder = encoder_for(STANDARD.negotiate(accept, "list"), shape())
    groups = [encoder.items(ENTRIES[:2], first=True), encoder.items(ENTRIES[2:], first=False)]
    made = b"".join(encoder.list(ListMeta(7, "token", 4), groups, 3))
    plain = JsonEncoder(shape())
    whole = b"".join(plain.list(ListMeta(7, "token", 4), [plain.items(ENTRIES, first=True)], 3))
    assert made == encoder.document(whole)
    assert yaml.safe_load(whole)["metadata"] == {"resourceVersion": "7", "continue": "token", "remainingItemCount": 4}


@pytest.mark.parametrize("accept", [b"application/yaml", b"application/json;pretty=1", b"application/json"])
def test_an_empty_list_has_its_items(accept: bytes) -> None:
    made = b"".join(encoder_for(STANDARD.negotiate(accept, "list"), shape()).list(ListMeta(7), [], 0))
    assert yaml.safe_load(made) == {
        "kind": "PodList",
        "apiVersion": "v1",
        "metadata": {"resourceVersion": "7"},
        "items": [],
    }


async def test_a_status_is_no_object_of_the_endpoint() -> None:
    request = request_with()
    request.representation = STANDARD.negotiate(b"application/yaml", "get")
    status = Response(404, not_found("", "pods", "p").body())

    def unasked() -> Encoder:
        raise AssertionError("a Status was taken for a pod")

    answer = await represented(request.representation, status, unasked)
    assert isinstance(answer.body, bytes)
    assert yaml.safe_load(answer.body)["reason"] == "NotFound"


async def test_what_is_no_json_stays_as_it_is() -> None:
    request = request_with()
    request.representation = request.representation.prettied()
    answer = Response(200, b"ok", b"text/plain")
    assert await represented(request.representation, answer) is answer


@pytest.mark.parametrize(
    ("header", "accepted"),
    [(b"gzip", True), (b"br, gzip, zstd", True), (b"deflate, gzip;q=1.0", False), (b"identity", False), (b"", False)],
)
def test_gzip_is_accepted_by_name(header: bytes, accepted: bool) -> None:
    assert accepts_gzip(header) is accepted


async def test_big_answers_are_packed_and_small_ones_are_not() -> None:
    request = request_with(accept_encoding=b"gzip")
    small = Response(200, b"x" * THRESHOLD)
    assert await compressed(request, small) is small
    big = await compressed(request, Response(200, [b"x" * THRESHOLD, b"y"]))
    assert (b"content-encoding", b"gzip") in big.headers
    assert isinstance(big.body, list)
    assert gzip.decompress(b"".join(big.body)) == b"x" * THRESHOLD + b"y"
