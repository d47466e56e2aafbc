"""The JSON of audit events, in each of its forms."""

from __future__ import annotations

import json
import time

import orjson
import pytest

from gateway.audit.event import source_ips
from gateway.audit.latency import duration, latencies
from gateway.audit.objects import EncodedObject, embedded
from storage.instruments.trace import Times
from tests.unit.audit.samples import event


def test_a_line_is_one_whatever_is_in_it() -> None:
    made = event("a\nb")
    made.response = EncodedObject(b'{\n "x": "\xe2\x80\xa8"}\n')
    assert made.line().count(b"\n") == 1 and json.loads(made.line())["responseObject"] == {"x": "\u2028"}
    made.response = EncodedObject(b"{no json")
    assert "responseObject" not in json.loads(made.line())


def test_the_legacy_line_has_a_part_of_the_event() -> None:
    assert event().legacy() == (
        b'2026-01-01T00:00:00.000000Z AUDIT: id="1" stage="ResponseComplete" ip="<unknown>" method="get" user="ada" '
        b'groups="\\"a\\",\\"b\\"" as="<self>" asgroups="<lookup>" user-agent="" namespace="<none>" uri="/api" '
        b'response="<deferred>"\n'
    )


def test_managed_fields_are_left_out_of_objects_lists_and_tables() -> None:
    meta = {"metadata": {"name": "a", "managedFields": [{}]}}
    data = json.dumps({**meta, "items": [meta], "rows": [{"object": meta}]}).encode()
    assert b"managedFields" not in json.dumps(embedded(EncodedObject(data), True)["items"]).encode()
    made = event()
    made.response = EncodedObject(data)
    assert "managedFields" in json.loads(made.line())["responseObject"]["metadata"]
    rows = json.dumps({"kind": "Table", "rows": [{"object": meta}]}).encode()
    assert embedded(EncodedObject(rows), True)["rows"] == [{"object": {"metadata": {"name": "a"}}}]


def test_a_large_answer_of_this_server_is_not_parsed_again() -> None:
    """1.3 million arrays in 4 MB kept the GIL for 1.6 s. An extension server's answer is read by the bounded reader."""
    arrays = b'{"items":[\n' + b"[]," * 400_000 + b'[]],"metadata":{"managedFields":[]}}'
    for without in (False, True):
        found = embedded(EncodedObject(arrays, own=True), without)
        assert isinstance(found, orjson.Fragment) and b"\n" not in orjson.dumps(found)
        assert embedded(EncodedObject(arrays), without) is None
        assert (b"managedFields" in orjson.dumps(found)) is not without
    pods = b'{"items":[' + b",".join([b'{"metadata":{"managedFields":[{"f":{}}],"a":1}}'] * 30_000) + b"]}"
    assert embedded(EncodedObject(pods, own=True), True)["items"] == [{"metadata": {"a": 1}}] * 30_000


def test_custom_objects_may_have_items_that_are_no_list() -> None:
    for name in ("items", "rows"):
        data = json.dumps({"metadata": {"managedFields": []}, name: 5}).encode()
        assert embedded(EncodedObject(data, own=True), True) == {"metadata": {}, name: 5}


@pytest.mark.parametrize(
    ("headers", "remote", "found"),
    [
        ({}, "10.0.0.1", ["10.0.0.1"]),
        ({b"x-forwarded-for": b"1.1.1.1,10.0.0.1"}, "10.0.0.1", ["1.1.1.1", "10.0.0.1"]),
        ({b"x-forwarded-for": b"1.1.1.1", b"x-real-ip": b"1.1.1.1"}, "::1", ["1.1.1.1", "::1"]),
        ({b"x-forwarded-for": b"host, \xff", b"x-real-ip": b"2.2.2.2"}, "::ffff:3.3.3.3", ["2.2.2.2", "3.3.3.3"]),
    ],
)
def test_source_ips(headers: dict[bytes, bytes], remote: str, found: list[str]) -> None:
    assert source_ips(headers, remote) == found


@pytest.mark.parametrize(
    ("seconds", "written"),
    [
        (0.000000042, "42ns"), (0.0000125, "12.5µs"), (0.5031, "503.1ms"), (1.0, "1s"), (1.25, "1.25s"),
        (61.5, "1m1.5s"), (3600.0, "1h0m0s"),
    ],
)  # fmt: skip
def test_times_are_written_as_go_writes_durations(seconds: float, written: str) -> None:
    assert duration(seconds) == written


def test_only_of_a_slow_request_it_is_told_where_the_time_went() -> None:
    now = time.monotonic()
    slow, quick = Times(now - 60), Times(now + 60)  # however long this takes
    for each in (slow, quick):
        each.took("authentication", 1.0, 1.25)
        each.took("priority-and-fairness", 1.0, 1.0002)
        each.took("response-write", 1.0, 1.002)
    assert latencies(quick) == {}
    told = latencies(slow)
    prefix = "apiserver.latency.k8s.io/"
    assert told.keys() == {prefix + "authentication", prefix + "response-write", prefix + "total"}
    assert told[prefix + "authentication"] == "250ms"
    assert told[prefix + "response-write"] == "2ms" and told[prefix + "total"].startswith("1m")
