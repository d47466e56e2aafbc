"""Selectors apply to custom objects in the requested version, after a webhook has converted them."""

from __future__ import annotations

import json
from typing import Any

from apiserver_gateway.testing import ApiServer
from tests.integration.customresources.definitions import establish
from tests.integration.customresources.hook import Hook, with_webhook
from tests.integration.customresources.test_watches import things, watching
from tests.integration.server.client import ask

HOSTS = {"a": ("one", "80"), "b": ("one", "8080"), "c": ("two", "80"), "d": ("one", "80")}


def made(server: ApiServer, hook: Hook, group: str) -> None:
    """Objects of two versions without common fields: each version selects by its own fields."""
    wanted = with_webhook(group, hook)
    first, second = wanted["spec"]["versions"]
    first["selectableFields"] = [{"jsonPath": ".spec.hostPort"}]
    second["selectableFields"] = [{"jsonPath": ".spec.host"}, {"jsonPath": ".spec.port"}]
    establish(server, wanted)
    for name in HOSTS:
        assert ask(server, "POST", things(group, "v2"), widget(group, name)).status == 201


def widget(group: str, name: str) -> dict[str, Any]:
    host, port = HOSTS[name]
    metadata, spec = {"name": name, "labels": {"x": "y"}}, {"host": host, "port": port}
    return {"apiVersion": f"{group}/v2", "kind": "Widget", "metadata": metadata, "spec": spec}


def listed(server: ApiServer, path: str, query: str) -> tuple[str, str]:
    """The names of the selected objects, and the continue token."""
    answer = ask(server, "GET", f"{path}?{query}")
    assert answer.status == 200, answer.body
    names = "".join(item["metadata"]["name"] for item in answer.json["items"])
    return names, answer.json["metadata"].get("continue", "")


def test_a_list_selects_by_the_fields_of_its_version(server: ApiServer, hook: Hook) -> None:
    group = "selected.example.com"
    made(server, hook, group)
    both, one = "fieldSelector=spec.host%3Done%2Cspec.port%3D80", "fieldSelector=spec.host%3Done"
    for anywhere in (things(group, "v2"), f"/apis/{group}/v2/widgets"):
        for state in ("", "&resourceVersion=0"):
            assert listed(server, anywhere, one + state) == ("abd", "")
            assert listed(server, anywhere, both + state) == ("ad", "")
            assert listed(server, anywhere, "fieldSelector=spec.host!%3Done" + state) == ("c", "")
            assert listed(server, anywhere, "fieldSelector=metadata.name%3Dc" + state) == ("c", "")
            assert listed(server, anywhere, "fieldSelector=metadata.name%3Dc%2Cspec.host%3Done" + state) == ("", "")
    assert listed(server, things(group, "v1"), "fieldSelector=spec.hostPort%3Done:80") == ("ad", "")
    first, token = listed(server, things(group, "v2"), one + "&limit=2")
    assert (first, listed(server, things(group, "v2"), f"{one}&limit=2&continue={token}")) == ("ab", ("d", ""))
    first, token = listed(server, things(group, "v2"), both + "&limit=2")
    assert (first, token) == ("ad", "")
    deleted = ask(server, "DELETE", f"{things(group, 'v2')}?{both}")
    assert [item["metadata"]["name"] for item in deleted.json["items"]] == ["a", "d"]
    assert listed(server, things(group, "v2"), "") == ("bc", "")


def test_a_watch_selects_by_the_fields_of_its_version(server: ApiServer, hook: Hook) -> None:
    group = "seen.example.com"
    made(server, hook, group)
    query = "fieldSelector=spec.host%3Done&timeoutSeconds=60"
    with watching(server, things(group, "v2"), query) as stream, watching(server, things(group, "v1"), "") as other:
        assert [event_of(stream) for _ in "abd"] == [("ADDED", "a"), ("ADDED", "b"), ("ADDED", "d")]
        assert [event_of(other) for _ in HOSTS] == [("ADDED", name) for name in HOSTS]
        for name, host in (("a", "two"), ("c", "one"), ("b", "one")):
            path = f"{things(group, 'v2')}/{name}"
            obj = ask(server, "GET", path).json
            obj["spec"] |= {"host": host, "port": "1"}
            assert ask(server, "PUT", path, obj).status == 200
        assert ask(server, "DELETE", f"{things(group, 'v1')}/d").status == 200
        told = [event_of(stream) for _ in range(4)]
        assert told == [("DELETED", "a"), ("ADDED", "c"), ("MODIFIED", "b"), ("DELETED", "d")]


def test_labels_that_a_conversion_gives_are_selected_by(server: ApiServer, hook: Hook) -> None:
    group = "labelled.example.com"

    def label(answer: dict[str, Any]) -> None:
        for obj in answer["response"]["convertedObjects"]:
            if obj["apiVersion"].endswith("/v2"):
                obj["metadata"]["labels"] = {"host": obj["spec"]["host"]}

    with hook.answering(label):
        made(server, hook, group)
        assert listed(server, things(group, "v2"), "labelSelector=host%3Done") == ("abd", "")
        assert listed(server, things(group, "v2"), "labelSelector=x") == ("", "")
        assert listed(server, things(group, "v1"), "labelSelector=x") == ("abcd", "")


def event_of(stream: Any) -> tuple[str, str]:
    """The type and the object of the next event."""
    event = json.loads(stream.readline())
    return event["type"], event["object"]["metadata"]["name"]
