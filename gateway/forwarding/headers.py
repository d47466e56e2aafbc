"""Which headers pass: not those that are about one connection (RFC 9110, 7.6.1), nor what is meant for this server."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gateway.http.exchange import Header, Request

_HOPS = frozenset(
    {
        b"connection",
        b"proxy-connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)
_FRAMING = frozenset({b"host", b"content-length", b"transfer-encoding"})  # made anew
_OURS = frozenset({b"authorization", b"expect"})  # the client's credentials are for this server alone
_IMPERSONATION = b"impersonate-"
_FORWARDED_FOR = b"x-forwarded-for"


def sent(request: Request, *, upgrade: bool = False) -> list[Header]:
    """The headers that go on with a request; with `upgrade` also those that ask for one."""
    dropped = _FRAMING | _OURS if upgrade else _FRAMING | _OURS | _HOPS | _named(request.scope["headers"])
    found = [
        (name, value)
        for name, value in request.scope["headers"]
        if name not in dropped and not name.startswith(_IMPERSONATION) and name != _FORWARDED_FOR
    ]
    known = [value for name, value in request.scope["headers"] if name == _FORWARDED_FOR]
    found.append((_FORWARDED_FOR, b", ".join([*known, client_address(request.scope)])))
    return found


def returned(headers: Iterable[Header]) -> list[Header]:
    """The headers of an answer that come back."""
    headers = list(headers)
    dropped = _HOPS | _named(headers)
    return [header for header in headers if header[0] not in dropped]


def client_address(scope: Any) -> bytes:
    """The address of the client, as a header has it."""
    return str((scope.get("client") or ("",))[0]).encode()


def asks_for_upgrade(request: Request) -> bool:
    """Whether the request asks for another protocol, whichever."""
    if b"upgrade" not in request.headers:
        return False
    wishes = b",".join(value for name, value in request.scope["headers"] if name == b"connection")
    return b"upgrade" in wishes.lower()


def _named(headers: Iterable[Header]) -> frozenset[bytes]:
    """The headers that Connection says are about the connection."""
    values = b",".join(value for name, value in headers if name == b"connection")
    return frozenset(each.strip().lower() for each in values.split(b",") if each.strip()) if values else frozenset()
