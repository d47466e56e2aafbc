"""Custom objects in several versions, converted by a webhook."""

from __future__ import annotations

import json

import pytest

from apiserver_gateway.testing import ApiServer
from tests.forked import api_server
from tests.integration.customresources.definitions import DEFINITIONS, MERGE, definition, establish, version
from tests.integration.customresources.hook import Hook, with_webhook
from tests.integration.server.client import ask, connect
from tests.until import until


def test_a_webhook_converts_what_is_read_listed_watched_and_written(server: ApiServer, hook: Hook) -> None:
    group = "hooked.example.com"
    establish(server, with_webhook(group, hook))
    one, two = (f"/apis/{group}/{name}/namespaces/default/widgets" for name in ("v1", "v2"))
    body = {
        "apiVersion": f"{group}/v2",
        "kind": "Widget",
        "metadata": {"name": "a"},
        "spec": {"host": "h", "port": "1"},
    }
    made = ask(server, "POST", two, body)
    assert made.status == 201, made.body
    assert made.json["spec"] == {"host": "h", "port": "1"}
    assert ask(server, "GET", f"{one}/a").json["spec"] == {"hostPort": "h:1"}
    changed = ask(server, "PATCH", f"{two}/a", {"spec": {"port": "2"}}, headers=MERGE)
    assert changed.status == 200, changed.body
    assert changed.json["spec"] == {"host": "h", "port": "2"}
    listed = ask(server, "GET", two).json
    assert [each["spec"] for each in listed["items"]] == [{"host": "h", "port": "2"}]
    connection = connect(server)
    headers = {"Authorization": f"Bearer {server.token}"}
    revision = made.json["metadata"]["resourceVersion"]
    connection.request("GET", f"{two}?watch=1&resourceVersion={revision}&timeoutSeconds=60", headers=headers)
    event = json.loads(connection.getresponse().readline())
    connection.close()
    assert event["type"] == "MODIFIED"
    assert event["object"]["apiVersion"] == f"{group}/v2"
    assert event["object"]["spec"] == {"host": "h", "port": "2"}
    deleted = ask(server, "DELETE", f"{two}/a")
    assert deleted.status == 200, deleted.body


@pytest.mark.parametrize(("minor", "kept"), [("1.36", False), ("1.37", True)])
def test_managers_of_a_version_that_its_definition_has_no_more(minor: str, kept: bool) -> None:
    with api_server(f"--kubernetes-version={minor}") as server:
        managers_are_kept_of_a_version_that_is_gone(server, kept)


def managers_are_kept_of_a_version_that_is_gone(server: ApiServer, kept: bool) -> None:
    group = "gone.example.com"
    name = establish(server, definition(group, version("v1"), version("v2", storage=False)))
    one, two = (f"/apis/{group}/{each}/namespaces/default/widgets/a" for each in ("v1", "v2"))
    body = {"apiVersion": f"{group}/v2", "kind": "Widget", "metadata": {"name": "a"}}
    assert ask(server, "POST", two.removesuffix("/a"), {**body, "spec": {}}).status == 201
    left = {"spec": {"versions": [version("v1")]}}
    assert ask(server, "PATCH", f"{DEFINITIONS}/{name}", left, headers=MERGE).status == 200
    until(lambda: ask(server, "GET", two).status == 404)
    applied = {"Content-Type": "application/apply-patch+yaml"}
    refused = ask(server, "PATCH", f"{one}?fieldManager=m", {**body, "apiVersion": f"{group}/v1"}, headers=applied)
    assert refused.status == 500
    assert refused.json["message"] == f"request to convert CR to an invalid group/version: {group}/v2"
    patched = ask(server, "PATCH", one, {"metadata": {"labels": {"a": "b"}}}, headers=MERGE)
    assert ("managedFields" in patched.json["metadata"]) is kept
