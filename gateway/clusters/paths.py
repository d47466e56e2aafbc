"""The part of a request that names a control plane: the beginning of its path, or its host (--control-planes-domain).

Both are read from the bytes as sent: nothing is unescaped or normalised before, so only one reader decides whose
request it is. The name gives no rights: each control plane accepts its own credentials only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from gateway.audit.cluster import CLUSTER
from gateway.http.escapes import unescaped, valid_escapes

PREFIX = b"/clusters/"
_NAME = re.compile(rb"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")


def named(raw_path: bytes) -> tuple[str, bytes] | None:
    """The name in a path that begins with `PREFIX`, and the path within that control plane; None for a wrong name."""
    found = _NAME.match(raw_path, len(PREFIX))
    if found is None:
        return None
    below = raw_path[found.end() :]
    if below and not below.startswith(b"/"):
        return None
    return found.group().decode(), below or b"/"


def names_of(domain: str) -> Callable[[Iterable[tuple[bytes, bytes]]], str | None]:
    """A function that returns the name that the Host header says, below a domain; None for another host, and for
    several such headers.
    """
    match = re.compile(rb"(%b)\.%b\.?(?::[0-9]*)?" % (_NAME.pattern, re.escape(domain.encode())), re.I).fullmatch

    def name(headers: Iterable[tuple[bytes, bytes]]) -> str | None:
        found = [value for key, value in headers if key == b"host"]
        said = match(found[0]) if len(found) == 1 else None
        return None if said is None else said[1].decode().lower()

    return name


_DISCOVERY = b"/.well-known/openid-configuration"


def below_issuer(below: bytes, uid: str) -> bytes:
    """The path within a control plane, where `below` may be that of the discovery document of its issuer, whose name
    ends with its uid.
    """
    return _DISCOVERY if below == b"/%b%b" % (uid.encode(), _DISCOVERY) else below


def within(scope: Mapping[str, Any], below: bytes, name: str) -> dict[str, Any]:
    """The scope of a request for the path `below` of a control plane, as if the connection had no other control plane's
    requests. The audit log gets the name from it.
    """
    path = unescaped(below) if b"%" in below and valid_escapes(below) else below.decode("utf-8", "replace")
    return {**scope, "path": path, "raw_path": below, CLUSTER: name}
