"""Makes the ASGI scope of a request from its head and its connection."""

from __future__ import annotations

from typing import Any

from gateway.http.client_chain import ClientChain
from gateway.http.escapes import unescaped, valid_escapes
from gateway.http.messages import EXTENSIONS
from gateway.http.wire import host_of, path_of

_ASGI = {"version": "3.0", "spec_version": "2.3"}

Header = tuple[bytes, bytes]


def scope_of(
    method: str,
    url: bytes,
    version: str,
    headers: list[Header],
    *,
    ends: tuple[tuple[str, int | None] | None, tuple[str, int] | None],
    chain: ClientChain | None,
) -> dict[str, Any]:
    """The scope of a request. `ends` are the server's and the client's address; `chain` has the client's certificates
    of the TLS handshake. The dict is one literal because that is fastest, and each request needs one.
    """
    path, _, query = url.partition(b"?")
    if not path.startswith(b"/"):
        if host := host_of(path):
            headers = [(b"host", host), *(each for each in headers if each[0] != b"host")]
        path = path_of(path)
    scope: dict[str, Any] = {
        "type": "http",
        "asgi": _ASGI,
        "http_version": version,
        "method": method,
        "scheme": "https",
        "path": unescaped(path) if b"%" in path and valid_escapes(path) else path.decode("utf-8", "replace"),
        "raw_path": path,
        "query_string": query,
        "root_path": "",
        "headers": headers,
        "server": ends[0],
        "client": ends[1],
        "extensions": EXTENSIONS,
    }
    if chain is not None:
        scope["client_chain"] = chain
    return scope
