"""An extension API server with one resource, things.ext.example.com, in memory, and only OpenAPI v2.

It requires the client certificate of the front proxy, whose CA is published in the cluster.
"""

from __future__ import annotations

import base64
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from gateway.credentials.certificates import ensure_certificates, server_context

GROUP = "ext.example.com"
VERSION = f"{GROUP}/v1"
ROOT = f"/apis/{VERSION}"
PATIENCE = 240.0  # seconds that an answer may be held back
VERBS = ["create", "delete", "get", "list", "watch"]
RESOURCES = {
    "kind": "APIResourceList",
    "apiVersion": "v1",
    "groupVersion": VERSION,
    "resources": [{"name": "things", "singularName": "thing", "namespaced": True, "kind": "Thing", "verbs": VERBS}],
}
TOLD = {"name": "told", "namespace": "default", "uid": "u-default-told"}  # the object in watch events
DOCUMENT = {
    "swagger": "2.0",
    "info": {"title": "things", "version": "1"},
    "paths": {
        f"{ROOT}/things": {"get": {"produces": ["application/json"], "responses": {"200": {"description": "OK"}}}}
    },
    "definitions": {"com.example.Thing": {"type": "object"}},
}


@dataclass
class Extension:
    """The server and the requests that it got. `more` lets a watch send its second event. While `answering` is not set,
    only discovery is answered.
    """

    port: int = 0
    ca_bundle: str = ""
    things: dict[str, dict[str, Any]] = field(default_factory=dict)  # by namespace/name
    asked: list[tuple[str, str, dict[str, str], str]] = field(default_factory=list)  # with the certificate's name
    more: threading.Event = field(default_factory=threading.Event)
    answering: threading.Event = field(default_factory=threading.Event)


@contextmanager
def extension(directory: Path, proxies: str) -> Iterator[Extension]:
    """Starts a server on its own port that trusts the front proxies of some CAs (PEM)."""
    files = ensure_certificates(directory, ["127.0.0.1", "ext.default.svc"])
    made = Extension(ca_bundle=base64.b64encode(files.ca.read_bytes()).decode())
    made.answering.set()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._note()
            path, _, query = self.path.partition("?")
            if path == ROOT:
                self._answer(200, RESOURCES)
            elif path == "/openapi/v2":
                self._answer(200, DOCUMENT)
            elif not made.answering.wait(PATIENCE):
                self._answer(504, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 504})
            elif path.endswith("/things") and "watch=" in query:
                with suppress(OSError):  # the client may have closed the connection
                    self._watch()
            elif path.endswith("/things"):
                within = path.removeprefix(ROOT).removeprefix("/namespaces").removesuffix("things").lstrip("/")
                items = [each for key, each in list(made.things.items()) if key.startswith(within)]
                self._answer(200, {"kind": "ThingList", "apiVersion": VERSION, "metadata": {}, "items": items})
            elif (key := path.removeprefix(f"{ROOT}/namespaces/").replace("/things/", "/")) in made.things:
                self._answer(200, made.things[key])
            else:
                self._answer(404, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404})

        def do_POST(self) -> None:
            self._note()
            size = int(self.headers.get("content-length") or 0)
            if self.headers.get("transfer-encoding"):
                body = b"".join(iter(self._chunk, b""))
            else:
                body = self.rfile.read(size)
            thing = json.loads(body)
            namespace = self.path.removeprefix(f"{ROOT}/namespaces/").partition("/")[0]
            thing["metadata"] |= {"namespace": namespace, "uid": f"u-{namespace}-{thing['metadata']['name']}"}
            made.things[f"{namespace}/{thing['metadata']['name']}"] = thing
            self._answer(201, {**thing, "size": len(body)})

        def do_DELETE(self) -> None:
            self._note()
            self.rfile.read(int(self.headers.get("content-length") or 0))
            namespace, _, name = self.path.removeprefix(f"{ROOT}/namespaces/").split("/")
            made.things.pop(f"{namespace}/{name}", None)
            self._answer(200, {"kind": "Status", "apiVersion": "v1", "status": "Success"})

        def _chunk(self) -> bytes:
            size = int(self.rfile.readline(), 16)
            data = self.rfile.read(size)
            self.rfile.readline()
            return data

        def _note(self) -> None:
            assert isinstance(self.connection, ssl.SSLSocket)
            subject = (self.connection.getpeercert() or {}).get("subject", ())
            found: Any = subject
            names = [value for part in found for key, value in part if key == "commonName"]
            headers = {name.lower(): value for name, value in self.headers.items()}
            made.asked.append((self.command, self.path, headers, names[0] if names else ""))

        def _watch(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            for kind in ("ADDED", "MODIFIED"):
                event = json.dumps({"type": kind, "object": {"kind": "Thing", "metadata": TOLD}}).encode() + b"\n"
                self.wfile.write(b"%x\r\n%b\r\n" % (len(event), event))
                made.more.wait(PATIENCE)
            self.wfile.write(b"0\r\n\r\n")

        def _answer(self, status: int, body: dict[str, Any]) -> None:
            said = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, format: str, *args: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = server_context(files.certificate, files.key)
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(cadata=proxies)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    made.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        made.more.set()
        made.answering.set()
        server.shutdown()
        server.server_close()
