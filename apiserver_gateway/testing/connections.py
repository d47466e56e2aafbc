"""Connections to a server. They are kept between requests, since a new one takes longer than most answers.

Modules for TLS and HTTP are imported at the first request: pytest imports this module also for tests without a server.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import ssl
    from http.client import HTTPResponse, HTTPSConnection
    from pathlib import Path

MOST_IDLE = 8
AGENT = "apiserver-gateway-testing"
"""The User-Agent of requests by this package."""


@dataclass(frozen=True, slots=True)
class SentRequest:
    """A request, and the bearer token of its user."""

    method: str
    path: str
    body: Mapping[str, Any] | None
    token: str


class Server(Protocol):
    """A server for requests; `url` is "" before its first start."""

    url: str
    token: str
    ca_file: Path
    connections: Connections


class Connections:
    """The idle connections to one server. Any thread may take one."""

    def __init__(self, below: str = "") -> None:
        """All paths are `below` that of a control plane, such as /clusters/NAME."""
        self._below = below
        self._idle: list[HTTPSConnection] = []
        self._context: ssl.SSLContext | None = None

    @contextmanager
    def answer(self, server: Server, asked: SentRequest, timeout: float) -> Iterator[HTTPResponse]:
        """The answer to a request, with any status; the block has to read its body.

        Raises ConnectionError if the server does not run, and TimeoutError.
        """
        from http.client import HTTPException

        __tracebackhide__ = True
        if not asked.path.startswith("/"):
            raise ValueError(f"a path begins with a slash, as /api/v1/namespaces does: {asked.path!r}")
        headers = {"Authorization": f"Bearer {asked.token}", "Content-Type": "application/json", "User-Agent": AGENT}
        content = None if asked.body is None else json.dumps(asked.body).encode()
        connection = self._taken(server, timeout)
        try:
            try:
                connection.request(asked.method, f"{self._below}{asked.path}", content, headers)
                answer = connection.getresponse()
            except (ConnectionError, HTTPException) as error:
                raise ConnectionError(f"{server.url} does not answer: {error or type(error).__name__}") from None
            yield answer
        except BaseException:
            connection.close()
            raise
        if answer.isclosed() and not answer.will_close and len(self._idle) < MOST_IDLE:
            self._idle.append(connection)
        else:
            connection.close()

    def close(self) -> None:
        """Closes all idle connections, and drops the TLS context, as the CA may change."""
        self._context = None
        while self._idle:
            self._idle.pop().close()

    def _taken(self, server: Server, timeout: float) -> HTTPSConnection:
        """An idle connection, or a new one, which connects when it is used. Raises ConnectionError."""
        while self._idle:
            try:
                connection = self._idle.pop()
            except IndexError:  # another thread took it
                break
            if _is_open(connection):
                connection.sock.settimeout(timeout)
                return connection
            connection.close()
        import ssl
        from http.client import HTTPSConnection
        from urllib.parse import urlsplit

        from apiserver_gateway.trust import judge_as_go

        if not server.url:
            raise ConnectionError("the server was not started")
        if self._context is None:
            self._context = ssl.create_default_context(cafile=str(server.ca_file))
            judge_as_go(self._context)
        place = urlsplit(server.url)
        return HTTPSConnection(place.hostname or "", place.port, timeout=timeout, context=self._context)


def _is_open(connection: HTTPSConnection) -> bool:
    """Whether an idle connection has nothing to read: the server sends only the end of the connection unasked."""
    import select

    poll = select.poll()
    poll.register(connection.sock, select.POLLIN)
    return not poll.poll(0)
