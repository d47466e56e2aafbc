"""Checks that a certificate is for a name, with the rules and messages of Go's crypto/x509.

OpenSSL could check this too, but its message does not name the certificate's names.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterable
from ipaddress import ip_address
from typing import Any

from gateway.outbound.errors import CallError, unverified


def check_name(certificate: dict[str, Any], name: str) -> None:
    """Raises CallError if a certificate (from `ssl.SSLObject.getpeercert`) is not for the host or address `name`."""
    names = [str(value) for kind, value in certificate.get("subjectAltName", ()) if kind == "DNS"]
    addresses = [str(value) for kind, value in certificate.get("subjectAltName", ()) if kind == "IP Address"]
    wanted = _address(name)
    if wanted is not None:
        if not addresses:
            said = f"cannot validate certificate for {name} because it doesn't contain any IP SANs"
            raise CallError(unverified(said))
        known = [found for each in addresses if (found := _address(each)) is not None]
        if wanted in known:
            return
        raise CallError(unverified(f"certificate is valid for {', '.join(map(str, known))}, not {name}"))
    if _is_among(name, names):
        return
    if names:
        raise CallError(unverified(f"certificate is valid for {', '.join(names)}, not {name}"))
    if not addresses and name in _common_names(certificate):
        raise CallError(unverified("certificate relies on legacy Common Name field, use SANs instead"))
    raise CallError(unverified(f"certificate is not valid for any names, but wanted to match {name}"))


def _address(text: str) -> Any:
    try:
        return ip_address(text.removeprefix("[").removesuffix("]"))
    except ValueError:
        return None


def _is_among(name: str, patterns: Iterable[str]) -> bool:
    labels = name.lower().removesuffix(".").split(".")
    if not all(labels):
        return False
    return any(_matches(labels, pattern.lower().split(".")) for pattern in patterns)


def _matches(labels: list[str], pattern: list[str]) -> bool:
    """Whether a name matches a pattern, whose first label may be `*` for any one label."""
    if len(labels) != len(pattern) or labels[1:] != pattern[1:] or not all(pattern):
        return False
    return pattern[0] == "*" or pattern[0] == labels[0]


def _common_names(certificate: dict[str, Any]) -> list[str]:
    return [value for part in certificate.get("subject", ()) for key, value in part if key == "commonName"]


async def address_of(host: str) -> str:
    """The address of a host name, for messages; the name itself if it can't be resolved."""
    if not host or host[-1].isdigit() or ":" in host:
        return host
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return host
    return str(found[0][4][0]) if found else host
