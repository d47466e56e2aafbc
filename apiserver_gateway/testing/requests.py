"""What tests do with a server without a client of their own: requests, namespaces."""

from __future__ import annotations

import contextlib
import json
import uuid
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from apiserver_gateway.testing.connections import Asked, Server

if TYPE_CHECKING:
    from http.client import HTTPResponse

# A frame with `__tracebackhide__` is left out by pytest: what a test sees is its own line.

PATIENCE = 60.0  # seconds: a request or a wait fails after them


class Refused(Exception):
    """The server's answer was an error; `status` is its code, the message its own."""

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
    timeout: float = PATIENCE,
) -> Iterator[HTTPResponse]:
    """The answer, to be read in the block. Raises Refused."""
    __tracebackhide__ = True
    with server.connections.answer(server, Asked(method, path, body, token or server.token), timeout) as answered:
        if answered.status >= 300:
            text = answered.read().decode(errors="replace").strip()
            with contextlib.suppress(ValueError, KeyError, TypeError):
                text = json.loads(text)["message"]
            raise Refused(answered.status, f"{method} {path}: {text}")
        yield answered


def ask(server: Server, method: str, path: str, body: Mapping[str, Any] | None = None, *, token: str = "") -> Any:
    """The server's answer to an administrator, or to whose `token` it is: `ask(api, "GET", "/api/v1/namespaces")`.

    Raises Refused, ConnectionError where the server is not there.
    """
    __tracebackhide__ = True
    with answer(server, method, path, body, token=token) as answered:
        return json.loads(answered.read())


@contextlib.contextmanager
def namespace(server: Server, prefix: str = "test") -> Iterator[str]:
    """The name of a new namespace, which is deleted at the end of the block."""
    name = f"{prefix}-{uuid.uuid4().hex[:10]}"
    ask(server, "POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    try:
        yield name
    finally:
        with contextlib.suppress(Refused):
            ask(server, "DELETE", f"/api/v1/namespaces/{name}")
