"""Which headers are forwarded: not those of one connection (RFC 9110, 7.6.1), and not those for this server alone."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
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
_FRAMING = frozenset({b"host", b"content-length", b"transfer-encoding"})  # set anew for the forwarded request
_OURS = frozenset({b"authorization", b"expect"})  # the client's credentials are for this server alone
_OF_IDENTITY = (b"impersonate-", b"x-remote-")  # for this server alone too, as are those of access/spent_headers.py
_FORWARDED_FOR = b"x-forwarded-for"
_OF_HERE = _FRAMING | _OURS | {_FORWARDED_FOR}
_NOT_SENT = _OF_HERE | _HOPS
_TE: Header = (b"te", b"trailers")  # the only value of TE that is forwarded: it is not about one connection
_AGENT: Header = (b"user-agent", b"Go-http-client/1.1")
_OPTIONS = frozenset({b"upgrade", b"keep-alive", b"close"})  # of Connection, which are not names of headers
_CORS = b"access-control-"
_NONE = frozenset[bytes]()


def sent(request: Request, *replaced: Header, upgrade: bool = False, without: Container[bytes] = ()) -> list[Header]:
    """The headers of the forwarded request. Those in `without` are dropped; `replaced` replace those of the same names.

    With `upgrade`, the headers that ask for an upgrade stay.
    """
    given, dropped = request.scope["headers"], _OF_HERE if upgrade else _NOT_SENT
    if b"connection" in request.headers and not upgrade:
        dropped |= _named(given)
    names = [name for name, _ in replaced]
    found = [
        (name, value)
        for name, value in given
        if name not in dropped and name not in names and name not in without and not _says_who(name)
    ]
    if upgrade:
        found = [(name, _about_upgrade(value)) if name == b"connection" else (name, value) for name, value in found]
        if b"user-agent" not in request.headers:
            found.append(_AGENT)
    elif b"trailers" in request.headers.get(b"te", b""):
        found.append(_TE)
    found += replaced
    known = [value for name, value in given if name == _FORWARDED_FOR] if _FORWARDED_FOR in request.headers else []
    found.append((_FORWARDED_FOR, b", ".join([*known, client_address(request.scope)])))
    return found


def returned(headers: Sequence[Header], *others: bytes) -> list[Header]:
    """The headers of an answer that are returned to the client, without `others`.

    CORS headers are dropped: only this server decides which origins may read the answer.
    """
    dropped = _HOPS | _named(headers)
    return [
        header
        for header in headers
        if header[0] not in dropped and header[0] not in others and not header[0].startswith(_CORS)
    ]


def client_address(scope: Any) -> bytes:
    """The address of the client, as a header has it."""
    return str((scope.get("client") or ("",))[0]).encode()


def asks_for_upgrade(request: Request) -> bool:
    """Whether the request asks for an upgrade to any protocol. As in kube-apiserver, Connection alone decides."""
    if b"connection" not in request.headers:
        return False
    wishes = b",".join(value for name, value in request.scope["headers"] if name == b"connection")
    return b"upgrade" in wishes.lower()


def _says_who(name: bytes) -> bool:
    """Whether a header names a user, also for servers that take _ in a header's name for -."""
    return name.startswith(_OF_IDENTITY) or (b"_" in name and name.replace(b"_", b"-").startswith(_OF_IDENTITY))


def _about_upgrade(connection: bytes) -> bytes:
    """The value of Connection without names of headers.

    A proxy behind this server would remove the headers named there, which may be those that name the user.
    """
    said = [each.strip() for each in connection.split(b",")]
    return b", ".join(each for each in said if each.lower() in _OPTIONS)


def _named(headers: Iterable[Header]) -> frozenset[bytes]:
    """The headers that Connection names as hop-by-hop headers."""
    values = [value for name, value in headers if name == b"connection"]
    if not values:
        return _NONE
    return frozenset(each.strip().lower() for each in b",".join(values).split(b",") if each.strip())
