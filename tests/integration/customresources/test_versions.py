"""Objects in several versions: storage in another one, and conversion by a webhook."""

from __future__ import annotations

import json

from gateway.testing import ApiServer
from tests.integration.customresources.definitions import DEFINITIONS, MERGE, definition, establish, until, version
from tests.integration.customresources.hook import Hook, with_webhook
from tests.integration.server.client import ask, connect

Servers = tuple[ApiServer, ApiServer]


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
    connection.request("GET", f"{two}?watch=1&resourceVersion={revision}&timeoutSeconds=5", headers=headers)
    event = json.loads(connection.getresponse().readline())
    connection.close()
    assert event["type"] == "MODIFIED"
    assert event["object"]["apiVersion"] == f"{group}/v2"
    assert event["object"]["spec"] == {"host": "h", "port": "2"}
    deleted = ask(server, "DELETE", f"{two}/a")
    assert deleted.status == 200, deleted.body


def test_objects_move_to_another_storage_version_when_they_are_written(servers: Servers) -> None:
    one, other = servers
    group = "moving.example.com"
    both = {"spec": {"type": "object", "properties": {"a": {"type": "string"}}}}
    v1, v2 = version("v1", both), {**version("v2", both), "storage": False}
    name = establish(one, definition(group, v1, v2))
    path = f"/apis/{group}/v1/namespaces/default/widgets"
    body = {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"a": "x"}}
    made = ask(one, "POST", path, body).json
    change = {"spec": {"versions": [{**v1, "storage": False}, {**v2, "storage": True}]}}
    assert ask(one, "PATCH", f"{DEFINITIONS}/{name}", change, headers=MERGE).status == 200
    assert ask(one, "GET", f"{DEFINITIONS}/{name}").json["status"]["storedVersions"] == ["v1", "v2"]
    until(lambda: ask(one, "GET", f"/apis/{group}/v2/namespaces/default/widgets/w").status == 200)
    written = {}

    def is_moved() -> bool:
        written.update(
            ask(one, "PUT", f"{path}/w", {**made, "metadata": {**made["metadata"], "resourceVersion": ""}}).json
        )
        current = ask(one, "GET", f"{path}/w").json
        written.update(ask(one, "PUT", f"{path}/w", current).json)
        return bool(written["metadata"]["resourceVersion"] != made["metadata"]["resourceVersion"])

    until(is_moved)
    revision = written["metadata"]["resourceVersion"]
    again = ask(one, "PUT", f"{path}/w", written).json
    assert again["metadata"]["resourceVersion"] == revision
    for server in (one, other):
        until(lambda server=server: ask(server, "GET", f"{path}/w").json["spec"] == {"a": "x"})
