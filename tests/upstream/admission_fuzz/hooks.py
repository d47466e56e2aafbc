"""A server of webhooks whose answers depend on their path. It records the reviews of each of the two API servers."""

from __future__ import annotations

import base64
import json
import random
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from apiserver_gateway.testing.webhooks import _certified

Json = dict[str, Any]

_VALUES = ("x", "", "<b>", 7, None, True, {"k": "v"}, ["a"])
_PATHS = (
    *("/metadata/labels/added", "/metadata/annotations/note", "/metadata/annotations", "/metadata/name"),
    *("/metadata/labels", "/metadata/finalizers/-", "/metadata/namespace", "/metadata/uid", "/metadata/generation"),
    *("/data/a", "/data/new", "/data", "/spec/replicas", "/spec/size", "/spec/unknown", "/spec/tags/0", "/spec/name"),
    *("/spec/template/metadata/labels/z", "/spec/containers/0/image", "/spec/containers/1", "/status", "/kind", "/x"),
    *("/apiVersion", "/metadata/resourceVersion", "/metadata/managedFields", "/immutable", "/metadata/ownerReferences"),
)


def patch(rng: random.Random) -> list[Json]:
    """A random JSON patch, which often cannot be applied."""
    if rng.random() < 0.35:
        return [{"op": "add", "path": "/metadata/labels/hooked", "value": "yes"}]
    operations = []
    for _ in range(rng.randrange(0, 3)):
        op = rng.choice(("add", "add", "add", "replace", "remove", "test", "copy", "move", "odd"))
        operation: Json = {"op": op, "path": rng.choice(_PATHS)}
        if op in ("copy", "move"):
            operation["from"] = rng.choice(_PATHS)
        elif op != "remove":
            operation["value"] = rng.choice(_VALUES)
        operations.append(operation)
    return operations


def answer(seed: str, review: Json, *, mutating: bool) -> tuple[int, bytes]:
    """The status and the body of a webhook's answer, which depend only on the seed and the review."""
    rng = random.Random(seed)
    roll = rng.random()
    response: Json = {"uid": review["request"]["uid"], "allowed": True}
    made: Json = {"kind": review["kind"], "apiVersion": review["apiVersion"], "response": response}
    if roll < 0.2:
        status: Json = {}
        for key, choices in (
            ("code", (200, 403, 404, 409, 422, 500, 700, -1)),
            ("message", ("no", "", "two\nlines", "ü" * 300)),
            ("reason", ("Forbidden", "Invalid", "Odd")),
            ("details", ({"retryAfterSeconds": 3}, {"name": "n", "causes": [{"message": "c", "field": "f"}]})),
            ("status", ("Failure", "Success")),
        ):
            if rng.random() < 0.5:
                status[key] = rng.choice(choices)
        response |= {"allowed": False, "status": status}
    elif roll < 0.6 and (mutating or roll < 0.25):
        operations = json.dumps(patch(rng)).encode()
        response |= {"patchType": "JSONPatch", "patch": base64.b64encode(operations).decode()}
    elif roll > 0.85:
        return _broken(rng, made, response)
    if rng.random() < 0.3:
        response["warnings"] = rng.sample(("w1", "w2", "w1", "", "a\nb", "ü" * 300, "tab\t", '"quoted"'), 3)
    if rng.random() < 0.3:
        response["auditAnnotations"] = {rng.choice(("key", "a/b", "bad key", "-")): "value"}
    return 200, json.dumps(made).encode()


def _broken(rng: random.Random, made: Json, response: Json) -> tuple[int, bytes]:
    match rng.randrange(10):
        case 0:
            response["uid"] = "other"
        case 1:
            made["apiVersion"] = "admission.k8s.io/v2"
        case 2:
            made["kind"] = "Other"
        case 3:
            del made["response"]
        case 4:
            return rng.choice((400, 404, 500, 503)), b"broken"
        case 5:
            return 200, b""
        case 6:
            return 200, b"{not json"
        case 7:
            response |= {"patch": base64.b64encode(b"[]").decode()}
        case 8:
            response |= {"patchType": "Merge", "patch": base64.b64encode(b"[]").decode()}
        case _:
            response |= {"patchType": "JSONPatch", "patch": rng.choice(("bm9uZQ==", "e30=", "!"))}
    return 200, json.dumps(made).encode()


class Hooks:
    """Serves `/SIDE/HALF/SEED`; HALF is mutating or validating."""

    def __init__(self) -> None:
        context, self.authority = _certified()
        self.asked: dict[str, list[Json]] = {"peer": [], "ours": []}
        asked = self.asked

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                path, _, query = self.path.partition("?")
                _, side, half, seed = path.split("/", 3)
                noted = {"path": f"{half}/{seed}?{query}", "review": review, "agent": self.headers.get("User-Agent")}
                asked[side].append(noted)
                status, content = answer(seed, review, mutating=half == "mutating")
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: Any) -> None:
                """Logs nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def client(self, side: str, half: str, seed: str) -> Json:
        """The client configuration of a webhook for one of the two servers."""
        url = f"https://127.0.0.1:{self._server.server_port}/{side}/{half}/{seed}"
        return {"url": url, "caBundle": base64.b64encode(self.authority).decode()}

    def take(self, side: str) -> list[Json]:
        """The reviews of one server since the last call."""
        taken, self.asked[side][:] = list(self.asked[side]), []
        return taken
