"""On whose behalf an extension server is asked: headers of the front proxy ("Authenticating Proxy")."""

from __future__ import annotations

from collections.abc import Iterable

from gateway.http.exchange import Header
from gateway.http.user import User

_PREFIX = b"x-remote-"
_EXTRA = "x-remote-extra-"
_LEGAL = frozenset("!#$&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")


def on_behalf_of(user: User) -> list[Header]:
    """The headers that name a user."""
    found = [("x-remote-user", user.name)]
    if user.uid:
        found.append(("x-remote-uid", user.uid))
    found += [("x-remote-group", group) for group in user.groups]
    found += [(f"{_EXTRA}{_escaped(key)}", value) for key, values in user.extra for value in values]
    return [(name.encode(), value.encode("utf-8", "surrogateescape")) for name, value in found if _is_value(value)]


def unforged(headers: Iterable[Header]) -> list[Header]:
    """A client's headers without those that only a front proxy may say."""
    return [header for header in headers if not header[0].startswith(_PREFIX)]


def _escaped(key: str) -> str:
    """A key of extra as a header's name can have it."""
    return "".join(char if char in _LEGAL else "".join(f"%{byte:02X}" for byte in char.encode()) for char in key)


def _is_value(text: str) -> bool:
    return not any(char in text for char in "\r\n\0")
