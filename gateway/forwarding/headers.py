"""Which headers are forwarded: not hop-by-hop headers (RFC 9110, 7.6.1), and not the client's credentials.

A request for an upgrade keeps its hop-by-hop headers, except Transfer-Encoding.
"""

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
_OURS = frozenset({b"authorization", b"expect"})  # the client's credentials for this server, and what it asks of it
_OF_IDENTITY = (b"impersonate-", b"x-remote-")  # name users; access/spent_headers.py removes those of --requestheader-*
_FORWARDED_FOR = b"x-forwarded-for"
_OF_HERE = _FRAMING | _OURS | {_FORWARDED_FOR}
_NOT_SENT = _OF_HERE | _HOPS
_TE: Header = (b"te", b"trailers")  # the only value of TE that is forwarded: it holds for all hops
_AGENT: Header = (b"user-agent", b"Go-http-client/1.1")
_OPTIONS = frozenset({b"upgrade", b"keep-alive", b"close"})  # options of Connection that are kept for an upgrade
_CORS = b"access-control-"
_NONE = frozenset[bytes]()


def sent(request: Request, *replaced: Header, upgrade: bool = False, without: Container[bytes] = ()) -> list[Header]:
    """The headers of the forwarded request. Those in `without` are dropped; `replaced` replace those of the same names.

    The client's address is appended to X-Forwarded-For. With `upgrade`, all hop-by-hop headers but Transfer-Encoding
    are forwarded, and User-Agent is set if the client sent none. Without it, only `TE: trailers` is.
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
    """The client's address, encoded for X-Forwarded-For."""
    return str((scope.get("client") or ("",))[0]).encode()


def asks_for_upgrade(request: Request) -> bool:
    """Whether the request asks for an upgrade to any protocol. As in kube-apiserver, Connection alone decides."""
    if b"connection" not in request.headers:
        return False
    wishes = b",".join(value for name, value in request.scope["headers"] if name == b"connection")
    return b"upgrade" in wishes.lower()


def _says_who(name: bytes) -> bool:
    """Whether a header names a user. `_` counts as `-`, because some servers treat them alike."""
    return name.startswith(_OF_IDENTITY) or (b"_" in name and name.replace(b"_", b"-").startswith(_OF_IDENTITY))


def _about_upgrade(connection: bytes) -> bytes:
    """The value of Connection with the options in _OPTIONS only.

    A proxy behind this server would remove every header that Connection names, such as X-Remote-User.
    """
    said = [each.strip() for each in connection.split(b",")]
    return b", ".join(each for each in said if each.lower() in _OPTIONS)


def _named(headers: Iterable[Header]) -> frozenset[bytes]:
    """The headers that Connection names as hop-by-hop headers."""
    values = [value for name, value in headers if name == b"connection"]
    if not values:
        return _NONE
    return frozenset(each.strip().lower() for each in b",".join(values).split(b",") if each.strip())
