"""Checks that a certificate is for a name, with the rules and messages of Go's crypto/x509.

OpenSSL could check this too, but its message does not name the certificate's names.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from ipaddress import ip_address
from typing import Any

from gateway.outbound.errors import CallError, unverified

AddressInfo = tuple[int, int, int, str, tuple[Any, ...]]
"""As `socket.getaddrinfo` gives it."""
_SOON = 1.0  # seconds that a message waits for an address

Resolver = Callable[[str, int | None], Awaitable[Sequence[AddressInfo]]]
"""The addresses of a host, with a port. Raises OSError, ValueError."""


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


async def resolved(host: str, port: int | None) -> Sequence[AddressInfo]:
    """The addresses of a host, for the server's own calls. Raises OSError, ValueError."""
    return await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)


async def address_of(host: str, resolve: Resolver) -> str:
    """The address of a host name, for messages; the name itself if it can't be resolved soon."""
    if not host or host[-1].isdigit() or ":" in host:
        return host
    try:
        async with asyncio.timeout(_SOON):
            found = await resolve(host, None)
    except (OSError, UnicodeError):
        return host
    return str(found[0][4][0]) if found else host
