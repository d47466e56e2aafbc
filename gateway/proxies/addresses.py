"""Which addresses requests may be proxied to: none that only this host can reach (CVE-2020-8562, CVE-2022-3294)."""

from __future__ import annotations

from ipaddress import ip_address

from gateway.http.status import StatusError, bad_request
from gateway.outbound.names import Resolver


def not_allowed() -> StatusError:
    """The error for an address to which nothing is proxied."""
    return bad_request("address not allowed")


def is_global_unicast(text: str) -> bool:
    """Whether a text is a unicast address, but neither loopback nor link-local; like Go's IsGlobalUnicast."""
    try:
        found = ip_address(text)
    except ValueError:
        return False
    if (mapped := getattr(found, "ipv4_mapped", None)) is not None:
        found = mapped
    broadcast = found.version == 4 and int(found) == 0xFFFFFFFF
    return not (found.is_loopback or found.is_link_local or found.is_multicast or found.is_unspecified or broadcast)


async def allowed_address(host: str, resolve: Resolver) -> str:
    """The first address of a host. Raises StatusError 400, also if any of its addresses is not allowed.

    Callers must connect to this address and not to the name: a second lookup could return another address.
    """
    try:
        found = await resolve(host, None)
    except (OSError, UnicodeError):
        raise bad_request(f"lookup {host}: no such host") from None
    addresses = [str(each[4][0]) for each in found]
    if not addresses:
        raise bad_request("no addresses for hostname")
    if not all(map(is_global_unicast, addresses)):
        raise not_allowed()
    return addresses[0]
