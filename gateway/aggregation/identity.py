"""The headers that tell an extension API server the user of a request ("Authenticating Proxy").

A user with a name, group or value that a header cannot carry is not passed on: without it, the request would have
another user. kube-apiserver refuses control characters, too; it passes on spaces around a value, which the receiver
cuts off.
"""

from __future__ import annotations

import re

from gateway.http.exchange import Header
from gateway.http.user import User
from gateway.memo import Memory
from gateway.outbound.errors import CallError
from gateway.outbound.request import lines_of
from gateway.validation.field import go_quote

_EXTRA = "x-remote-extra-"
_LEGAL = frozenset("!#$&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


_known: Memory[User, tuple[tuple[Header, ...], bytes]] = Memory(2 << 20)


def on_behalf_of(user: User) -> tuple[Header, ...]:
    """The headers X-Remote-User, -Uid, -Group and -Extra of a user. Raises CallError for one who cannot be named so."""
    return _said(user)[0]


def lines_on_behalf_of(user: User) -> bytes:
    """The same headers as the encoded lines of a request. Raises CallError as `on_behalf_of`."""
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
    for name, value in found:
        if not _arrives_as_it_is(value):
            raise CallError(f"net/http: invalid header field value for {go_quote(name.title())}")
    return tuple((name.encode(), value.encode("utf-8", "surrogateescape")) for name, value in found)


def _escaped(key: str) -> str:
    """An extra key, percent-encoded for a header name."""
    return "".join(char if char in _LEGAL else "".join(f"%{byte:02X}" for byte in char.encode()) for char in key)


def _arrives_as_it_is(text: str) -> bool:
    """Whether a header can have this value, and its receiver does not change it: spaces around it would be cut off."""
    return text == text.strip(" \t") and _CONTROL.search(text) is None
