"""A conversion webhook, and CRDs that name it."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from gateway.credentials.certificates import ensure_certificates, server_context
from tests.integration.customresources.definitions import definition, version

HOST_PORT = {"spec": {"type": "object", "properties": {"hostPort": {"type": "string"}}}}
Spoil = Callable[[dict[str, Any]], bytes | None]  # changes an answer, or returns the bytes to send instead
APART = {"spec": {"type": "object", "properties": {"host": {"type": "string"}, "port": {"type": "string"}}}}


@dataclass
class Hook:
    """A conversion webhook between v1 (hostPort) and v2 (host and port)."""

    port: int = 0
    ca_bundle: str = ""
    reviews: list[dict[str, Any]] = field(default_factory=list)
    spoil: Spoil | None = None
    code: int = 200

    @contextmanager
    def answering(self, spoil: Spoil | None, code: int = 200) -> Iterator[None]:
        """Inside the block it answers in another way."""
        self.spoil, self.code = spoil, code
        try:
            yield
        finally:
            self.spoil, self.code = None, 200


def converted(obj: dict[str, Any], wanted: str) -> dict[str, Any]:
    spec = dict(obj.get("spec") or {})
    if wanted.endswith("/v2"):
        host, _, port = spec.get("hostPort", ":").partition(":")
        spec = {"host": host, "port": port}
    else:
        spec = {"hostPort": f"{spec.get('host', '')}:{spec.get('port', '')}"}
    return {**obj, "apiVersion": wanted, "spec": spec}


@contextmanager
def serving(directory: Path) -> Iterator[Hook]:
    """Starts a webhook on its own port. `directory` is for its certificates."""
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
            answer = {"kind": review["kind"], "apiVersion": review["apiVersion"], "response": response}
            instead = made.spoil(answer) if made.spoil is not None else None
            self.send_response(made.code)
            self.end_headers()
            self.wfile.write(json.dumps(answer).encode() if instead is None else instead)

        def log_message(self, format: str, *args: Any) -> None:
            """Logs nothing."""

    files = ensure_certificates(directory, ["localhost"])
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.socket = server_context(files.certificate, files.key).wrap_socket(server.socket, server_side=True)
    made.port, made.ca_bundle = server.server_port, base64.b64encode(files.ca.read_bytes()).decode()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield made
    server.shutdown()
    thread.join()
    server.server_close()


def with_webhook(group: str, hook: Hook, *reviews: str, **client: Any) -> dict[str, Any]:
    """A CRD whose objects the webhook converts, with these versions of ConversionReview. `client` is its client
    configuration.
    """
    client = {"url": f"https://localhost:{hook.port}/convert", "caBundle": hook.ca_bundle, **client}
    client = {name: value for name, value in client.items() if value is not None}
    webhook = {"clientConfig": client, "conversionReviewVersions": list(reviews) or ["v1"]}
    versions = [version("v1", HOST_PORT), {**version("v2", APART), "storage": False}]
    return definition(group, *versions, conversion={"strategy": "Webhook", "webhook": webhook})
