"""Answers are re-encoded only where the client asked for it, and packed only where it pays."""

import gzip
import json
from typing import Any

import pytest
import yaml

from gateway.http.compression import THRESHOLD, accepts_gzip, compressed
from gateway.http.exchange import ListBody, Request, Response
from gateway.http.formats.json import indent
from gateway.http.negotiation import negotiate
from gateway.http.representing import represented

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


async def test_yaml_is_made_of_the_json_answer() -> None:
    request = request_with()
    request.representation = negotiate(b"application/yaml", "get")
    answer = await represented(request, Response(200, [OBJECT[:20], OBJECT[20:]]))
    assert answer.content_type == b"application/yaml"
    assert isinstance(answer.body, bytes)
    assert yaml.safe_load(answer.body)["metadata"]["name"] == "c"


@pytest.mark.parametrize("accept", [b"application/yaml", b"application/json;pretty=1"])
async def test_a_list_in_pieces_reads_as_one_that_is_whole(accept: bytes) -> None:
    items = [
        b'{"metadata":{"name":"a","labels":{}},"data":{"x":"line\\nitems: []\\n"}}',
        b'{"metadata":{}}',
        b'{"n":[]}',
    ]
    head = b'{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"3"},"items":['
    pieces = ListBody([head, b",".join(items[:2]), b"," + items[2], b"]}\n"])
    request = request_with()
    request.representation = negotiate(accept, "list")
    answer = await represented(request, Response(200, pieces))
    whole = await represented(request, Response(200, b"".join(pieces)))
    assert isinstance(answer.body, list)
    assert b"".join(answer.body) == whole.body
    assert answer.content_type == whole.content_type


async def test_what_is_no_json_stays_as_it_is() -> None:
    request = request_with()
    request.human = True
    answer = Response(200, b"ok", b"text/plain")
    assert await represented(request, answer) is answer


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
