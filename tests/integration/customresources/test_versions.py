"""Objects in several versions: storage in another one, and conversion by a webhook."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from gateway.certificates import ensure_certificates, server_context
from gateway.testing import ApiServer
from tests.integration.customresources.definitions import DEFINITIONS, MERGE, definition, establish, until, version
from tests.integration.server.client import ask, connect

Servers = tuple[ApiServer, ApiServer]
HOST_PORT = {"spec": {"type": "object", "properties": {"hostPort": {"type": "string"}}}}
APART = {"spec": {"type": "object", "properties": {"host": {"type": "string"}, "port": {"type": "string"}}}}


@dataclass
class Hook:
    """A conversion webhook between v1 (hostPort) and v2 (host and port)."""

    port: int = 0
    ca_bundle: str = ""
    reviews: list[dict[str, Any]] = field(default_factory=list)
    spoil: Any = None  # changes the answer


def converted(obj: dict[str, Any], wanted: str) -> dict[str, Any]:
    spec = dict(obj.get("spec") or {})
    if wanted.endswith("/v2"):
        host, _, port = spec.get("hostPort", ":").partition(":")
        spec = {"host": host, "port": port}
    else:
        spec = {"hostPort": f"{spec.get('host', '')}:{spec.get('port', '')}"}
    return {**obj, "apiVersion": wanted, "spec": spec}


@pytest.fixture(scope="module")
def hook(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hook]:
    made = Hook()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            made.reviews.append(review)
            request = review["request"]
            response = {
                "uid": request["uid"],
                "result": {"status": "Success"},
                "convertedObjects": [converted(obj, request["desiredAPIVersion"]) for obj in request["objects"]],
            }
            if made.spoil is not None:
                made.spoil(response)
            body = json.dumps({"kind": review["kind"], "apiVersion": review["apiVersion"], "response": response})
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, format: str, *args: Any) -> None:
            """Says nothing."""

    files = ensure_certificates(Path(tmp_path_factory.mktemp("hook")), ["localhost"])
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.socket = server_context(files.certificate, files.key).wrap_socket(server.socket, server_side=True)
    made.port, made.ca_bundle = server.server_port, base64.b64encode(files.ca.read_bytes()).decode()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield made
    server.shutdown()
    thread.join()
    server.server_close()


def with_webhook(group: str, hook: Hook) -> dict[str, Any]:
    client = {"url": f"https://localhost:{hook.port}/convert", "caBundle": hook.ca_bundle}
    webhook = {"clientConfig": client, "conversionReviewVersions": ["v1"]}
    versions = [version("v1", HOST_PORT), {**version("v2", APART), "storage": False}]
    return definition(group, *versions, conversion={"strategy": "Webhook", "webhook": webhook})


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


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda response: response.update(convertedObjects=[]), "returned 0 objects, expected 1"),
        (lambda response: response.update(uid="x"), "expected response.uid="),
        (lambda response: response.update(result={"status": "Failure", "message": "no way"}), "failed: no way"),
        (lambda response: response["convertedObjects"][0].update(kind="Gadget"), "invalid kind (expected Widget"),
        (lambda response: response["convertedObjects"][0]["metadata"].update(name="b"), "must have the same name"),
        (lambda response: response["convertedObjects"][0].update(apiVersion="x/v3"), "invalid groupVersion"),
    ],
)
def test_what_a_webhook_answers_is_checked(server: ApiServer, hook: Hook, spoil: Any, message: str) -> None:
    group = "spoilt.example.com"
    if ask(server, "GET", f"{DEFINITIONS}/widgets.{group}").status == 404:
        establish(server, with_webhook(group, hook))
    body = {"apiVersion": f"{group}/v2", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"host": "h"}}
    hook.spoil = spoil
    try:
        refused = ask(server, "POST", f"/apis/{group}/v2/namespaces/default/widgets", body)
    finally:
        hook.spoil = None
    assert refused.status == 500, refused.body
    assert f"conversion webhook for {group}/v2, Kind=Widget" in refused.json["message"]
    assert message in refused.json["message"]


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
