"""Watches of custom objects: while the webhook does not convert, and when their CRD is changed or deleted."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPResponse
from typing import Any

from apiserver_gateway.testing import ApiServer
from tests.integration.customresources.definitions import DEFINITIONS, MERGE, definition, establish, version
from tests.integration.customresources.hook import Hook, with_webhook
from tests.integration.server.client import ask, connect
from tests.limits import within


@contextmanager
def watching(server: ApiServer, path: str, query: str) -> Iterator[HTTPResponse]:
    connection = connect(server)
    connection.request("GET", f"{path}?watch=1&{query}", headers={"Authorization": f"Bearer {server.token}"})
    try:
        yield connection.getresponse()
    finally:
        connection.close()


def things(group: str, name: str) -> str:
    return f"/apis/{group}/{name}/namespaces/default/widgets"


def make(server: ApiServer, group: str, name: str) -> str:
    body = {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": name}, "spec": {"hostPort": "h:1"}}
    answer = ask(server, "POST", things(group, "v1"), body)
    assert answer.status == 201, answer.body
    revision: str = answer.json["metadata"]["resourceVersion"]
    return revision


def failing(answer: dict[str, Any]) -> None:
    answer["response"]["result"] = {"status": "Failure", "message": "no such luck"}


TEXT = {"type": "object", "properties": {"hostPort": {"type": "string"}}}
MORE = {"type": "object", "properties": {"hostPort": {"type": "string"}, "size": {"type": "integer"}}}
COLUMN = {"name": "Host", "type": "string", "jsonPath": ".spec.hostPort"}
STRICT = {
    **TEXT,
    "description": "where it is",
    "properties": {"hostPort": {"type": "string", "pattern": "^h:", "maxLength": 9, "description": "host and port"}},
}
ALIKE = [
    {"versions": [version("v1", {"spec": STRICT})]},
    {"versions": [version("v1", {"spec": TEXT}, additionalPrinterColumns=[COLUMN])]},
    {"versions": [version("v1", {"spec": TEXT}, deprecated=True)]},
    {"names": {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"], "categories": ["all"], "singular": "w"}},
]


def change(server: ApiServer, name: str, spec: dict[str, Any]) -> None:
    """Changes a CRD, and waits until the change is served."""
    assert ask(server, "PATCH", f"{DEFINITIONS}/{name}", {"spec": spec}, headers=MERGE).status == 200


def test_a_change_that_reads_alike_ends_no_watch(server: ApiServer) -> None:
    group = "alike.example.com"
    name = establish(server, definition(group, version("v1", {"spec": TEXT})))
    revision = make(server, group, "one")
    with watching(server, things(group, "v1"), f"resourceVersion={revision}&timeoutSeconds=60") as stream:
        for number, spec in enumerate(ALIKE):
            change(server, name, spec)
            make(server, group, f"early-{number}")
        time.sleep(1.2)  # a watch ends one second after the change
        make(server, group, "late")
        seen = [json.loads(stream.readline())["object"]["metadata"]["name"] for _ in (*ALIKE, "late")]
        assert seen == [*(f"early-{number}" for number in range(len(ALIKE))), "late"]


def test_a_watch_goes_on_for_a_second_when_objects_are_read_otherwise(server: ApiServer) -> None:
    """The watch gets the events of that second. It ends after a complete event, and has missed none."""
    group = "otherwise.example.com"
    name = establish(server, definition(group, version("v1", {"spec": TEXT})))
    revision = make(server, group, "one")
    made, first, ended = [], list[float](), threading.Event()

    def write() -> None:
        while not ended.is_set():
            made.append(make(server, group, f"later-{len(made)}"))
            first.append(time.monotonic())

    with (
        watching(server, things(group, "v1"), f"resourceVersion={revision}&timeoutSeconds=60") as stream,
        ThreadPoolExecutor(1) as pool,
    ):
        with within(10.0):
            began = time.monotonic()
            change(server, name, {"versions": [version("v1", {"spec": MORE})]})
            writing = pool.submit(write)
            events = [json.loads(line) for line in stream.read().splitlines()]
            end = time.monotonic()
        ended.set()
        writing.result()
    assert end - began >= 1.0
    seen = [each["object"]["metadata"]["resourceVersion"] for each in events]
    assert seen == made[: len(seen)]
    in_time = [moment for moment in first if moment < began + 0.5]  # on a busy machine there may be none
    assert seen or not in_time, "what was written in that second was not told"


def test_a_watch_waits_for_a_webhook_that_fails(server: ApiServer, hook: Hook) -> None:
    group = "waiting.example.com"
    establish(server, with_webhook(group, hook))
    revision = make(server, group, "one")
    two = things(group, "v2")
    assert ask(server, "GET", two).status == 200
    with watching(server, two, f"resourceVersion={revision}&timeoutSeconds=60") as follows:
        with hook.answering(failing):
            asked = len(hook.reviews)
            make(server, group, "two")
            with watching(server, two, "timeoutSeconds=60") as fresh:  # the most recent state, which can't be told
                error = json.loads(fresh.readline())
                assert fresh.readline() == b""
            assert error["type"] == "ERROR"
            assert (error["object"]["code"], error["object"]["reason"]) == (504, "Timeout")
            assert error["object"]["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"
            assert asked < len(hook.reviews) < asked + 12  # both watches call the webhook in turn, with growing pauses
        event = json.loads(follows.readline())
        assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "two")
        assert event["object"]["spec"] == {"host": "h", "port": "1"}


def test_a_watch_is_told_of_what_goes_with_its_definition(server: ApiServer) -> None:
    group = "going.example.com"
    name = establish(server, definition(group, version("v1"), version("v2", storage=False)))
    make(server, group, "one")
    revision = make(server, group, "two")
    with (
        watching(server, things(group, "v1"), f"resourceVersion={revision}&timeoutSeconds=60") as one,
        watching(server, things(group, "v2"), f"resourceVersion={revision}&timeoutSeconds=60") as two,
    ):
        assert ask(server, "DELETE", f"{DEFINITIONS}/{name}").status == 200
        for stream, api_version in ((one, f"{group}/v1"), (two, f"{group}/v2")):
            events = [json.loads(line) for line in stream.read().splitlines()]
            assert {each["type"] for each in events} == {"DELETED"}
            assert {each["object"]["metadata"]["name"] for each in events} == {"one", "two"}
            assert {each["object"]["apiVersion"] for each in events} == {api_version}


def test_a_revision_before_the_definition_is_too_old(server: ApiServer) -> None:
    group = "late.example.com"
    establish(server, definition(group))
    answer = ask(server, "GET", f"{things(group, 'v1')}?watch=1&resourceVersion=1&timeoutSeconds=20")
    assert answer.status == 200
    event = answer.json
    assert (event["type"], event["object"]["code"], event["object"]["reason"]) == ("ERROR", 410, "Expired")
    assert re.fullmatch(r"too old resource version: 1 \([1-9][0-9]*\)", event["object"]["message"])
