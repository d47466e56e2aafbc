"""Removes the headers that authenticated a request, so that no server behind this one sees them.

As in kube-apiserver's filter. Extension API servers trust the headers of the --requestheader flags (ConfigMap
extension-apiserver-authentication), whose names can be chosen freely. `forwarding/headers.py` removes the fixed names
(X-Remote-*).
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from typing import Any

from gateway.http.exchange import Header, Request
from gateway.http.websocket import BEARER_PROTOCOL, PROTOCOL, SHOWED_TOKEN, is_wanted
from gateway.settings.config import Settings

_FIXED = b"x-remote-"


class SpentHeaders:
    """Removes the headers in which front proxies name users, and bearer tokens among a WebSocket's subprotocols."""

    def __init__(self, names: Iterable[str], prefixes: Iterable[str]) -> None:
        """`names` and `prefixes` are those of the --requestheader flags."""
        self._names = frozenset(name for each in names if not (name := _folded(each)).startswith(_FIXED))
        self._prefixes = tuple(name for each in prefixes if not (name := _folded(each)).startswith(_FIXED))
        self.are_any = bool(self._names or self._prefixes)

    def take_off(self, request: Request, scope: MutableMapping[str, Any]) -> None:
        """Removes the headers from a request that has been authenticated."""
        if self.are_any:
            kept = [header for header in scope["headers"] if not self._names_users(header[0])]
            if len(kept) < len(scope["headers"]):
                scope["headers"] = kept
                request.headers = dict(reversed(kept))
        if PROTOCOL in request.headers:
            _take_off_token(request, scope)

    def _names_users(self, header: bytes) -> bool:
        # servers that turn headers into variables, as CGI does, treat _ and - as the same
        name = header.replace(b"_", b"-")
        return name in self._names or name.startswith(self._prefixes)


def spent_headers(settings: Settings) -> SpentHeaders:
    """The filter for the header names of the settings."""
    names = (
        *settings.requestheader_username_headers,
        *settings.requestheader_uid_headers,
        *settings.requestheader_group_headers,
    )
    return SpentHeaders(names, settings.requestheader_extra_headers_prefix)


def token_among_protocols(headers: Mapping[bytes, bytes], all_headers: Sequence[Header]) -> str | None:
    """The bearer token among a WebSocket's subprotocols, where browsers can put it; None without one.

    Raises ValueError for several tokens, an invalid encoding, or if there is no other subprotocol.
    """
    if PROTOCOL not in headers or not is_wanted(headers):
        return None
    tokens, others = _parted(all_headers)
    if not tokens:
        return None
    if len(tokens) > 1:
        raise ValueError("multiple base64.bearer.authorization tokens specified")
    encoded = tokens[0]
    try:
        if b"=" in encoded:
            raise ValueError("it has padding")
        token = base64.b64decode(encoded + b"=" * (-len(encoded) % 4), b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        raise ValueError("invalid base64.bearer.authorization token encoding") from None
    if token and not others:
        raise ValueError("missing additional subprotocol")
    return token or None


def _take_off_token(request: Request, scope: MutableMapping[str, Any]) -> None:
    tokens, others = _parted(scope["headers"])
    if not tokens:
        return
    kept = [header for header in scope["headers"] if header[0] != PROTOCOL]
    if others:
        kept.append((PROTOCOL, b",".join(others)))
    scope["headers"], scope[SHOWED_TOKEN] = kept, True
    request.headers = dict(reversed(kept))


def _parted(headers: Sequence[Header]) -> tuple[Sequence[bytes], Sequence[bytes]]:
    """The tokens among the subprotocols, still encoded, and the other subprotocols."""
    said = [each.strip() for name, value in headers if name == PROTOCOL for each in value.split(b",")]
    tokens = [each.removeprefix(BEARER_PROTOCOL) for each in said if each.startswith(BEARER_PROTOCOL)]
    return tokens, [each for each in said if each and not each.startswith(BEARER_PROTOCOL)]


def _folded(name: str) -> bytes:
    return name.strip().lower().encode().replace(b"_", b"-")
