"""IP addresses and CIDR blocks: a lenient parse for old fields, the canonical form (RFC 5952) for new ones."""

from __future__ import annotations

import ipaddress
import re

from gateway.memo import memo
from gateway.validation.field import FieldError, go_quote, invalid

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_is_dotted = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+").fullmatch
_leading_zeros = re.compile("(?<![0-9a-fA-F])0+(?=[0-9a-fA-F])").sub


@memo()
def parse_ip(value: str) -> Address | None:
    """Parses an address; None if it is invalid. Numbers may have leading zeros, and those of IPv4 are decimal.

    An IPv4-mapped IPv6 address becomes the IPv4 address.
    """
    if _is_dotted(value):
        numbers = [int(part) for part in value.split(".") if len(part) < 32]
        valid = len(numbers) == 4 and max(numbers) < 256
        return ipaddress.IPv4Address(bytes(numbers)) if valid else None
    if ":" not in value or "%" in value or not value.isascii():
        return None
    try:
        address = ipaddress.IPv6Address(_leading_zeros("", value))
    except ValueError:
        return None
    return address.ipv4_mapped or address


def is_strict_ip(value: str) -> bool:
    """Whether a text is an address in the standard form: without leading zeros, and without a zone."""
    try:
        ipaddress.ip_address(value)
    except ValueError:
        return False
    return "%" not in value


def _is_mapped(value: str) -> bool:
    try:
        return ipaddress.IPv6Address(value).ipv4_mapped is not None
    except ValueError:
        return False


def _ip_errors(path: str, value: str) -> list[FieldError]:
    if parse_ip(value) is None:
        return [invalid(path, value, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")]
    if not is_strict_ip(value):
        return [invalid(path, value, "must not have leading 0s")]
    return [invalid(path, value, "must not be an IPv4-mapped IPv6 address")] if _is_mapped(value) else []


def validate_ip_legacy(path: str, value: str, old_values: tuple[str, ...] = ()) -> list[FieldError]:
    """For fields older than the rule of canonical forms. The stored object has `old_values`, which stay valid."""
    return [] if value in old_values else _ip_errors(path, value)


def validate_ip(path: str, value: str) -> list[FieldError]:
    """For newer fields: the address must have the canonical form of RFC 5952."""
    if found := _ip_errors(path, value):
        return found
    canonical = str(parse_ip(value))
    return [] if value == canonical else [invalid(path, value, f'must be in canonical form ("{canonical}")')]


def ip_warnings(path: str, value: str) -> list[str]:
    address = parse_ip(value)
    if address is None:
        return []
    if not is_strict_ip(value) or _is_mapped(value):
        return [f"{path}: non-standard IP address {go_quote(value)} is invalid: use {go_quote(str(address))}"]
    if address.version == 6 and str(address) != value:
        return [
            f"{path}: IPv6 address {go_quote(value)} should be in RFC 5952 canonical format ({go_quote(str(address))})"
        ]
    return []


@memo()
def parse_cidr(value: str) -> tuple[Address, Network] | None:
    """The address and the block that contains it; None if invalid. The address may have leading zeros."""
    host, slash, length = value.partition("/")
    address = parse_ip(host)
    if not slash or address is None or not (length.isascii() and length.isdigit()):
        return None
    bits = int(length) if len(length) < 8 else 1000
    if ":" in host and address.version == 4:  # ::ffff:10.0.0.0/104 is 10.0.0.0/8
        if bits > 128:
            return None
        if bits < 96:
            mapped = ipaddress.IPv6Address(f"::ffff:{address}")
            return address, ipaddress.ip_network((mapped, bits), strict=False)
        bits -= 96
    if bits > address.max_prefixlen:
        return None
    return address, ipaddress.ip_network((address, bits), strict=False)


def _is_strict_cidr(value: str) -> bool:
    host, _, length = value.partition("/")
    return is_strict_ip(host) and (length == "0" or not length.startswith("0"))


def _cidr_errors(path: str, value: str) -> list[FieldError]:
    parsed = parse_cidr(value)
    if parsed is None:
        return [invalid(path, value, "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)")]
    if not _is_strict_cidr(value):
        return [invalid(path, value, "must not have leading 0s in IP or prefix length")]
    if _is_mapped(value.partition("/")[0]):
        return [invalid(path, value, "must not have an IPv4-mapped IPv6 address")]
    if parsed[0] != parsed[1].network_address:
        return [invalid(path, value, "must not have bits set beyond the prefix length")]
    return []


def validate_cidr_legacy(path: str, value: str, old_values: tuple[str, ...] = ()) -> list[FieldError]:
    return [] if value in old_values else _cidr_errors(path, value)


def validate_cidr(path: str, value: str) -> list[FieldError]:
    found, parsed = _cidr_errors(path, value), parse_cidr(value)
    if found or parsed is None:
        return found
    canonical = str(parsed[1])
    return [] if value == canonical else [invalid(path, value, f'must be in canonical form ("{canonical}")')]


def cidr_warnings(path: str, value: str) -> list[str]:
    parsed = parse_cidr(value)
    if parsed is None:
        return []
    address, network = parsed
    found, quoted, block = [], go_quote(value), go_quote(str(network))
    if address != network.network_address:
        single = go_quote(f"{address}/{network.max_prefixlen}")
        found.append(f"{path}: CIDR value {quoted} is ambiguous in this context (should be {block} or {single}?)")
    if not _is_strict_cidr(value) or _is_mapped(value.partition("/")[0]):
        found.append(f"{path}: non-standard CIDR value {quoted} is invalid: use {block}")
    canonical = f"{address}/{network.prefixlen}"
    if not found and address.version == 6 and canonical != value:
        found.append(f"{path}: IPv6 CIDR value {quoted} should be in RFC 5952 canonical format ({go_quote(canonical)})")
    return found
