"""The resources of extension API servers in aggregated discovery."""

from __future__ import annotations

import asyncio
import json
from typing import Any, cast

import pytest

from gateway.aggregation.documents import Unusable
from gateway.aggregation.extension_discovery import MOST_OBJECTS, ExtensionDiscovery
from gateway.aggregation.resource_lists import converted, of_version
from gateway.aggregation.services import ApiService
from gateway.outbound.client import Reply
from gateway.outbound.request import Header
from gateway.release.release import DEFAULT_GATES

GROUP = "ext.example.com"
V2 = b"application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
NO_KIND = {"group": "", "version": "", "kind": ""}
THINGS = {"resource": "things", "scope": "Namespaced", "verbs": ["get"]}


def document(*resources: dict[str, Any], version: str = "v1") -> dict[str, Any]:
    return {"items": [{"metadata": {"name": GROUP}, "versions": [{"version": version, "resources": list(resources)}]}]}


def test_resources_with_subresources_alone_come_last() -> None:
    found = converted(
        [
            {"name": "things/status", "kind": "Thing", "namespaced": True, "verbs": ["get"]},
            {"name": "a/b/c"},
            {"name": "others", "kind": "Other", "verbs": []},
            {"name": "things", "kind": "Thing", "namespaced": True},
        ]
    )
    assert [(each["resource"], each["scope"], each["verbs"]) for each in found] == [
        ("others", "Cluster", []),
        ("things", "Namespaced", None),
        ("a", "Cluster", None),
    ]
    assert found[1]["subresources"][0]["responseKind"]["kind"] == "Thing"
    assert found[2]["responseKind"] == NO_KIND
    assert found[2]["subresources"] == [{"subresource": "b/c", "responseKind": NO_KIND, "verbs": None}]


def test_scopes_that_contradict_are_no_discovery() -> None:
    with pytest.raises(Unusable):
        converted([{"name": "things", "namespaced": True}, {"name": "things/status"}])


def test_documents_are_read_as_go_reads_them() -> None:
    said = document({**THINGS, "odd": 1, "subresources": [{"subresource": "status"}]})
    (found,) = of_version(said, GROUP, "v1")
    assert found["responseKind"] == NO_KIND and found["singularResource"] == "" and "odd" not in found
    assert found["subresources"] == [{"subresource": "status", "responseKind": NO_KIND, "verbs": None}]
    assert of_version(said, GROUP, "v2") == of_version(said, "other", "v1") == []


class Asked:
    """An extension API server with given answers, in order. It records the requests."""

    def __init__(self, *answers: Reply | None) -> None:
        self._answers, self.asked = list(answers), list[tuple[str, dict[bytes, bytes]]]()

    async def get(self, service: ApiService, path: str, headers: list[Header]) -> Reply | None:
        self.asked.append((path, dict(headers)))
        return self._answers.pop(0)


class Services:
    """APIServices v1 and v2 of one service."""

    def __init__(self) -> None:
        place = ("default", "ext", 443)
        self.remote = {
            (GROUP, version): ApiService(f"{version}.{GROUP}", GROUP, version, 1, 1, "", True, place)
            for version in ("v1", "v2")
        }

    def get(self, name: str) -> ApiService | None:
        return next((each for each in self.remote.values() if each.name == name), None)


def answer(status: int, body: Any = None, *headers: Header) -> Reply:
    return Reply(status, list(headers), json.dumps(body).encode())


def reconciled(asked: Asked, *names: str) -> ExtensionDiscovery:
    discovered = ExtensionDiscovery(*cast(Any, (Services(), None, None, None, DEFAULT_GATES.enabled)))
    discovered._documents = cast(Any, asked)

    async def run() -> None:
        for name in names:
            await discovered.reconcile(f"{name}.{GROUP}")
        discovered.queue.close()

    asyncio.run(run())
    return discovered


def test_a_document_that_has_not_changed_is_not_sent_again() -> None:
    """kube-apiserver keeps one document a service, with its tag."""
    head = (b"content-type", V2), (b"etag", b'"x"')
    asked = Asked(answer(200, document(THINGS), *head), answer(304), answer(304))
    found = reconciled(asked, "v1", "v2", "v1")
    assert [headers.get(b"if-none-match") for _, headers in asked.asked] == [None, b'"x"', b'"x"']
    assert [each["resource"] for each in found.resources(GROUP, "v1")] == ["things"]
    assert found.is_fresh(f"v2.{GROUP}") and found.resources(GROUP, "v2") == []


def test_a_document_without_a_tag_is_asked_for_again() -> None:
    head = (b"content-type", V2)
    asked = Asked(answer(200, document(THINGS), head), answer(200, document(), head))
    assert reconciled(asked, "v1", "v1").resources(GROUP, "v1") == []
    assert b"if-none-match" not in asked.asked[1][1]


@pytest.mark.parametrize("first", [None, answer(503)])
def test_a_server_that_is_not_there_is_not_asked_by_version(first: Reply | None) -> None:
    asked = Asked(first)
    assert not reconciled(asked, "v1").is_fresh(f"v1.{GROUP}")
    assert len(asked.asked) == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"verbs": json.loads("[" * 600 + "]" * 600)},
        {"resource": {"a": 1}},
        {"responseKind": "Thing"},
        {"shortNames": [1]},
        {"subresources": [{"subresource": "status", "acceptedTypes": [{"kind": []}]}]},
    ],
)
def test_what_is_no_discovery_leaves_what_was_known(wrong: dict[str, Any]) -> None:
    """With such an answer, the document of all groups could not be encoded."""
    head = (b"content-type", V2)
    asked = Asked(answer(200, document(THINGS), head), answer(200, document({**THINGS, **wrong}), head))
    found = reconciled(asked, "v1", "v1")
    assert [each["resource"] for each in found.resources(GROUP, "v1")] == ["things"]
    assert not found.is_fresh(f"v1.{GROUP}")
    lists = Asked(answer(404), answer(200, {"resources": [{"name": "things", "verbs": {"get": 1}}]}))
    assert not reconciled(lists, "v1").is_fresh(f"v1.{GROUP}")


@pytest.mark.parametrize("member", ["subresources", "acceptedTypes"])
def test_a_document_of_very_many_objects_is_no_discovery(member: str) -> None:
    """Each object has three bytes in the document, and some hundred bytes in memory."""
    many = [{}] * MOST_OBJECTS
    wrong = {"subresources": many} if member == "subresources" else {"subresources": [{"acceptedTypes": many}]}
    head = (b"content-type", V2)
    asked = Asked(answer(200, document(THINGS), head), answer(200, document({**THINGS, **wrong}), head))
    found = reconciled(asked, "v1", "v1")
    assert [each["resource"] for each in found.resources(GROUP, "v1")] == ["things"]
    assert not found.is_fresh(f"v1.{GROUP}")
