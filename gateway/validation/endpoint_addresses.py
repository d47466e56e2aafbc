"""Addresses that endpoints, external IPs and interfaces may have."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address

from gateway.validation.addresses import parse_cidr, parse_ip
from gateway.validation.field import FieldError, invalid


def is_ipv6(value: str) -> bool:
    """Whether the string is an IPv6 address; an IPv4-mapped one counts as IPv4, as in Go."""
    return isinstance(parse_ip(value), IPv6Address)


def is_ipv4(value: str) -> bool:
    return isinstance(parse_ip(value), IPv4Address)


def validate_endpoint_ip(path: str, value: str) -> list[FieldError]:
    """An endpoint's address must not be unspecified, loopback or link-local."""
    ip = parse_ip(value)
    if ip is None:
        return [invalid(path, value, "must be a valid IP address")]
    found = []
    if ip.is_unspecified:
        found.append(invalid(path, value, f"may not be unspecified ({value})"))
    if ip.is_loopback:
        found.append(invalid(path, value, "may not be in the loopback range (127.0.0.0/8, ::1/128)"))
    if ip.is_link_local:
        found.append(invalid(path, value, "may not be in the link-local range (169.254.0.0/16, fe80::/10)"))
    if _is_link_local_multicast(ip):
        found.append(invalid(path, value, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"))
    return found


def _is_link_local_multicast(ip: IPv4Address | IPv6Address) -> bool:
    if isinstance(ip, IPv4Address):
        return ip.packed[:3] == b"\xe0\x00\x00"
    return ip.packed[0] == 0xFF and ip.packed[1] & 0x0F == 2


def validate_interface_address(path: str, value: str) -> list[FieldError]:
    """The value must be an address with its prefix length ("192.0.2.1/24") in canonical form."""
    parsed = parse_cidr(value)
    if parsed is None:
        return [invalid(path, value, "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)")]
    canonical = f"{parsed[0]}/{parsed[1].prefixlen}"
    return [] if value == canonical else [invalid(path, value, f'must be in canonical form ("{canonical}")')]
