"""A plain HTTPS client for a test server: tests see the answer as it was sent."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from apiserver_gateway.testing import ApiServer

PATIENCE = 60.0  # seconds for an answer, on a busy machine too


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole response; header names in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def connect(server: ApiServer, timeout: float = PATIENCE) -> http.client.HTTPSConnection:
    """A connection that trusts the server's CA and nothing else."""
    context = ssl.create_default_context(cafile=str(server.ca_file))
    return http.client.HTTPSConnection("127.0.0.1", server.port, timeout=timeout, context=context)


def ask(
    server: ApiServer,
    method: str,
    path: str,
    body: Any = None,
    *,
    token: str | None = "",
    headers: Mapping[str, str] | None = None,
) -> Answer:
    """Sends one request on a new connection. `token` is the administrator's by default; None sends none."""
    sent = {"Accept": "application/json", **(headers or {})}
    if token is not None:
        sent["Authorization"] = f"Bearer {token or server.token}"
    if body is not None:
        sent.setdefault("Content-Type", "application/json")
    connection = connect(server)
    try:
        connection.request(method, path, None if body is None else json.dumps(body), sent)
        response = connection.getresponse()
        lower = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, lower, response.read())
    finally:
        connection.close()
