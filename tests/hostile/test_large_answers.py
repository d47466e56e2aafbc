"""Large answers of conversion webhooks are read beside the event loop, and those with too many members not at all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer
from tests.hostile.probe import held_at_most
from tests.integration.customresources.definitions import MERGE, establish
from tests.integration.customresources.hook import Hook, serving, with_webhook
from tests.integration.server.client import ask

GROUP = "large.example.com"
ONE, TWO = (f"/apis/{GROUP}/{version}/namespaces/default/widgets" for version in ("v1", "v2"))
LIMIT = 0.1


@pytest.fixture(scope="module")
def hook(module_server: ApiServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hook]:
    """A conversion webhook, and an object that it converts."""
    with serving(tmp_path_factory.mktemp("hook")) as made:
        establish(module_server, with_webhook(GROUP, made))
        body = {"apiVersion": f"{GROUP}/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"hostPort": "h:1"}}
        assert ask(module_server, "POST", ONE, body).status == 201
        yield made


def asked(server: ApiServer, hook: Hook, change: str, given: Any, end: bytes = b"") -> Any:
    """The object as the webhook converts it, with `given` in the place of the metadata's or spec's member `change`.

    `end` comes after the answer's JSON.
    """
    before = ask(server, "GET", f"{ONE}/a").json["metadata"]["resourceVersion"]
    touched = {"metadata": {"annotations": {"example.com/after": before}}}
    assert ask(server, "PATCH", f"{ONE}/a", touched, headers=MERGE).status == 200
    part, _, member = change.partition(".")

    def spoil(answer: dict[str, Any]) -> bytes:
        answer["response"]["convertedObjects"][0][part][member] = "GIVEN"
        return json.dumps(answer).encode().replace(b'"GIVEN"', given) + end

    with hook.answering(spoil), held_at_most(server, LIMIT):
        return ask(server, "GET", f"{TWO}/a")


def test_many_labels_hold_nobody(server: ApiServer, hook: Hook) -> None:
    labels = {f"example.com/label-{number}": f"value-{number}" for number in range(30_000)}
    found = asked(server, hook, "metadata.labels", json.dumps(labels).encode())
    assert (found.status, found.json["metadata"]["labels"]) == (200, labels)


def test_many_wrong_labels_hold_nobody_and_are_not_all_named(server: ApiServer, hook: Hook) -> None:
    labels = {f"a label {number}": "a value" for number in range(30_000)}
    found = asked(server, hook, "metadata.labels", json.dumps(labels).encode())
    assert found.status == 500 and "a label 1" in found.json["message"] and len(found.body) < 100_000


@pytest.mark.parametrize("member", [b"[]", b"{}", b'{"a":1}', b"1.5"])
def test_many_small_members_hold_nobody(server: ApiServer, hook: Hook, member: bytes) -> None:
    count = 590_000 // (1 + member.count(b"[") + member.count(b"{"))
    found = asked(server, hook, "spec.more", b"[" + b",".join([member] * count) + b"]")
    assert (found.status, found.json["spec"]) == (200, {"host": "h", "port": "1"})


@pytest.mark.parametrize("member", [b"[]", b"1"])
def test_too_many_members_are_refused(server: ApiServer, hook: Hook, member: bytes) -> None:
    found = asked(server, hook, "spec.more", b"[" + b",".join([member] * 4_000_000) + b"]")
    assert found.status == 500 and "the answer is not a JSON object" in found.json["message"]


def test_what_is_wrong_at_its_end_holds_nobody(server: ApiServer, hook: Hook) -> None:
    found = asked(server, hook, "spec.more", b'"%b"' % (b"\\ud800" * 1_000_000), b"]")
    assert found.status == 500 and "the answer is not a JSON object" in found.json["message"]
