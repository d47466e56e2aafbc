"""The headers that tell an extension API server the user of a request ("Authenticating Proxy")."""

from __future__ import annotations

from gateway.http.exchange import Header
from gateway.http.user import User
from gateway.memo import Memory
from gateway.outbound.request import lines_of

_EXTRA = "x-remote-extra-"
_LEGAL = frozenset("!#$&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")


_known: Memory[User, tuple[tuple[Header, ...], bytes]] = Memory(2 << 20)


def on_behalf_of(user: User) -> tuple[Header, ...]:
    """The headers X-Remote-User, -Uid, -Group and -Extra of a user."""
    return _said(user)[0]


def lines_on_behalf_of(user: User) -> bytes:
    """The same headers as the encoded lines of a request."""
    return _said(user)[1]


def _said(user: User) -> tuple[tuple[Header, ...], bytes]:
    found = _known.get(user)
    if found is None:
        headers = _headers(user)
        found = headers, lines_of(headers)
        _known.keep(user, found, 4 * user.size)
    return found


def _headers(user: User) -> tuple[Header, ...]:
    found = [("x-remote-user", user.name)]
    if user.uid:
        found.append(("x-remote-uid", user.uid))
    found += [("x-remote-group", group) for group in user.groups]
    found += [(f"{_EXTRA}{_escaped(key)}", value) for key, values in user.extra for value in values]
    named = [(name, value) for name, value in found if _is_value(value)]
    return tuple((name.encode(), value.encode("utf-8", "surrogateescape")) for name, value in named)


def _escaped(key: str) -> str:
    """An extra key, percent-encoded for a header name."""
    return "".join(char if char in _LEGAL else "".join(f"%{byte:02X}" for byte in char.encode()) for char in key)


def _is_value(text: str) -> bool:
    return not any(char in text for char in "\r\n\0")
