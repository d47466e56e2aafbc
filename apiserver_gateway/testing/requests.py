"""Requests to a server, and namespaces, for tests that have no client."""

from __future__ import annotations

import contextlib
import json
import uuid
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from apiserver_gateway.testing.connections import SentRequest, Server

if TYPE_CHECKING:
    from http.client import HTTPResponse

# pytest leaves frames with `__tracebackhide__` out, so that the traceback ends in the test.

REQUEST_TIMEOUT = 60.0  # seconds after which a request or a wait fails


class Refused(Exception):
    """The server's answer was an error. `status` is its code; the message has the server's message."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


@contextlib.contextmanager
def answer(
    server: Server,
    method: str,
    path: str,
    body: Mapping[str, Any] | None = None,
    *,
    token: str = "",
    timeout: float = REQUEST_TIMEOUT,
) -> Iterator[HTTPResponse]:
    """The answer to a request; the block has to read its body. Raises Refused for 300 and above."""
    __tracebackhide__ = True
    with server.connections.answer(server, SentRequest(method, path, body, token or server.token), timeout) as answered:
        if answered.status >= 300:
            text = answered.read().decode(errors="replace").strip()
            with contextlib.suppress(ValueError, KeyError, TypeError):
                text = json.loads(text)["message"]
            raise Refused(answered.status, f"{method} {path}: {text}")
        yield answered


def ask(server: Server, method: str, path: str, body: Mapping[str, Any] | None = None, *, token: str = "") -> Any:
    """Sends a request and returns the JSON of the answer: `ask(api, "GET", "/api/v1/namespaces")`.

    The user is the administrator, or that of `token`. Raises Refused; ConnectionError if the server does not run.
    """
    __tracebackhide__ = True
    with answer(server, method, path, body, token=token) as answered:
        return json.loads(answered.read())


@contextlib.contextmanager
def namespace(server: Server, prefix: str = "test") -> Iterator[str]:
    """Creates a namespace with a unique name, which is the value; deletes it at the end of the block."""
    name = f"{prefix}-{uuid.uuid4().hex[:10]}"
    ask(server, "POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    try:
        yield name
    finally:
        with contextlib.suppress(Refused):
            ask(server, "DELETE", f"/api/v1/namespaces/{name}")
