"""Which addresses a control plane may call. A user of the control plane chooses URLs of webhooks, and addresses of
services and nodes. None of them may lead to this host, or to servers that trust this host by its network address.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Network, ip_address, ip_network

_OF_HOSTS = tuple(
    ip_network(each)
    for each in ("0.0.0.0/8", "192.0.0.0/24", "100.100.100.200/32", "168.63.129.16/32", "fd00:ec2::254/128")
)
"""Networks of the host itself, and addresses of clouds' metadata services, which return the host's secrets."""
_TRANSLATED = IPv6Network("64:ff9b::/96")  # NAT64: the last 32 bits are an IPv4 address (RFC 6052)


class OutboundRules:
    """Decides which addresses the control planes of a server may call."""

    def __init__(self, allowed: Sequence[str] = ()) -> None:
        """`allowed` are networks that they may call all the same (--control-planes-reach)."""
        self._allowed = tuple(ip_network(each) for each in allowed)

    def __call__(self, address: str, *, of_host: bool = False) -> bool:
        """Whether a control plane may call an address: not one of this host (`dialled` finds those of its interfaces),
        of a cloud's metadata, link-local, multicast or reserved.
        """
        try:
            found = ip_address(address.partition("%")[0])
        except ValueError:
            return False
        if found.version == 6:
            inner = found.ipv4_mapped or found.sixtofour or (found.teredo[1] if found.teredo else None)
            found = IPv4Address(int(found) & 0xFFFFFFFF) if found in _TRANSLATED else inner or found
        if any(found in each for each in self._allowed):
            return True
        refused = found.is_loopback or found.is_link_local or found.is_multicast or found.is_unspecified
        return not (refused or found.is_reserved or of_host or any(found in each for each in _OF_HOSTS))
