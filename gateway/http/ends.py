"""The addresses of a connection's two ends. A dual-stack socket shows IPv4 addresses as IPv4-mapped IPv6 addresses
(RFC 4291, 2.5.5.2).
"""

from __future__ import annotations

import asyncio

from gateway.http.engine import get_local_addr, get_remote_addr

_MAPPED = "::ffff:"

Server = tuple[str, int | None] | None
Client = tuple[str, int] | None


def ends_of(transport: asyncio.Transport) -> tuple[Server, Client]:
    """The addresses of the server and of the client; IPv4-mapped addresses are turned into IPv4 addresses."""
    server, client = get_local_addr(transport), get_remote_addr(transport)
    if server is not None and server[0].startswith(_MAPPED):
        server = unmapped(server[0]), server[1]
    if client is not None and client[0].startswith(_MAPPED):
        client = unmapped(client[0]), client[1]
    return server, client


def unmapped(host: str) -> str:
    """The IPv4 address of an IPv4-mapped one, in the kernel's notation; any other address unchanged."""
    return host[len(_MAPPED) :] if host.startswith(_MAPPED) and "." in host else host
