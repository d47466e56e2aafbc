"""Kubernetes' libraries of IP addresses and CIDR blocks."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any

from gateway.cel.values import EvaluationError, no_overload, register
from gateway.validation.field import go_quote


@dataclass(slots=True, frozen=True)
class Ip:
    """An IP address."""

    address: IPv4Address | IPv6Address

    @property
    def size(self) -> int:
        """Its length in bytes: 4 or 16."""
        return self.address.max_prefixlen // 8


@dataclass(slots=True, frozen=True)
class Cidr:
    """An IP address with a prefix length. Host bits are kept."""

    address: IPv4Address | IPv6Address
    length: int

    @property
    def size(self) -> int:
        """The length of its prefix in bytes, rounded up."""
        return -(-self.length // 8)

    def __str__(self) -> str:
        return f"{self.address}/{self.length}"


register(Ip, "net.IP")
register(Cidr, "net.CIDR")
_DIGITS = re.compile("[0-9]+", re.ASCII)
_HEX = re.compile("[0-9a-fA-F]+", re.ASCII)


def _problem(text: str) -> str:
    """The error of Go's netip.ParseAddr for a text; "" for a valid address."""
    quoted = go_quote(text)
    for character in text:
        if character == ".":
            return _ipv4_problem(text, quoted)
        if character == ":":
            return _ipv6_problem(text, quoted)
        if character == "%":
            return f"ParseAddr({quoted}): missing IPv6 address"
    return f"ParseAddr({quoted}): unable to parse IP"


def _ipv4_problem(text: str, quoted: str) -> str:
    value, digits, fields = 0, 0, 0
    for at, character in enumerate(text):
        if character in "0123456789":
            if digits == 1 and value == 0:
                return f"ParseAddr({quoted}): IPv4 field has octet with leading zero"
            value, digits = value * 10 + int(character), digits + 1
            if value > 255:
                return f"ParseAddr({quoted}): IPv4 field has value >255"
        elif character == ".":
            if at in (0, len(text) - 1) or text[at - 1] == ".":
                return f"ParseAddr({quoted}): IPv4 field must have at least one digit (at {go_quote(text[at:])})"
            if fields == 3:
                return f"ParseAddr({quoted}): IPv4 address too long"
            fields, value, digits = fields + 1, 0, 0
        else:
            return f"ParseAddr({quoted}): unexpected character (at {go_quote(text[at:])})"
    return "" if fields == 3 else f"ParseAddr({quoted}): IPv4 address too short"


def _ipv6_problem(text: str, quoted: str) -> str:
    rest, percent, zone = text.partition("%")
    reason = "zone must be a non-empty string" if percent and not zone else _fields_problem(rest)
    return f"ParseAddr({quoted}): {reason}" if reason else ""


def _fields_problem(rest: str) -> str:
    """The first error in the fields of an IPv6 address, from left to right; "" for none."""
    count, elided = 0, rest.startswith("::")
    if elided and not (rest := rest[2:]):
        return ""
    while count < 8:
        digits = _HEX.match(rest)
        length = digits.end() if digits else 0
        if length > 4:
            return _at("each group must have 4 or less digits", rest)
        if not length:
            return _at("each colon-separated field must have at least one digit", rest)
        if rest[length : length + 1] == ".":
            return _embedded_problem(rest, count, elided)
        count, rest = count + 1, rest[length:]
        if not rest:
            break
        if rest[0] != ":":
            return _at("unexpected character, want colon", rest)
        if len(rest) == 1:
            return _at("colon must be followed by more characters", rest)
        rest = rest[1:]
        if rest[0] == ":":
            if elided:
                return _at("multiple :: in address", rest)
            elided, rest = True, rest[1:]
            if not rest:
                break
    return _count_problem(rest, count, elided)


def _count_problem(rest: str, count: int, elided: bool) -> str:
    if rest:
        return _at("trailing garbage after address", rest)
    if count < 8:
        return "" if elided else "address string too short"
    return "the :: must expand to at least one field of zeros" if elided else ""


def _embedded_problem(rest: str, count: int, elided: bool) -> str:
    if not elided and count != 6:
        return _at("embedded IPv4 address must replace the final 2 fields of the address", rest)
    if count > 6:
        return _at("too many hex fields to fit an embedded IPv4 at the end of the address", rest)
    found = _ipv4_problem(rest, "")
    return found.removeprefix("ParseAddr(): ") if found else _count_problem("", count + 2, elided)


def _at(reason: str, rest: str) -> str:
    return f"{reason} (at {go_quote(rest)})"


def ip(text: str) -> Ip:
    """Parses an IP address. Raises EvaluationError."""
    if problem := _problem(text):
        raise EvaluationError(f"IP Address {go_quote(text)} parse error during conversion from string: {problem}")
    address = ip_address(text)
    if isinstance(address, IPv6Address):
        if address.scope_id is not None:
            raise EvaluationError(f"IP address {go_quote(text)} with zone value is not allowed")
        if address.ipv4_mapped is not None:
            raise EvaluationError(f"IPv4-mapped IPv6 address {go_quote(text)} is not allowed")
    return Ip(address)


def _parse_cidr(text: str) -> Cidr:
    def refused(reason: str) -> EvaluationError:
        prefix = f"netip.ParsePrefix({go_quote(text)}): {reason}"
        return EvaluationError(f"network address parse error during conversion from string: {prefix}")

    before, slash, length = text.rpartition("/")
    if not slash:
        raise refused("no '/'")
    if problem := _problem(before):
        raise refused(problem)
    address = ip_address(before)
    if isinstance(address, IPv6Address) and address.scope_id is not None:
        raise refused("IPv6 zones cannot be present in a prefix")
    if not _DIGITS.fullmatch(length) or (len(length) > 1 and length[0] == "0"):
        raise refused(f"bad bits after slash: {go_quote(length)}")
    if len(length) > 3 or int(length) > address.max_prefixlen:
        raise refused("prefix length out of range")
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        raise EvaluationError(f"IPv4-mapped IPv6 address {go_quote(text)} is not allowed")
    return Cidr(address, int(length))


def cidr(text: str) -> Cidr:
    """Parses a CIDR such as "10.0.0.0/8". Raises EvaluationError."""
    try:
        return _parse_cidr(text)
    except EvaluationError as error:
        raise EvaluationError(f"network address parse error during conversion from string: {error}") from None


def _succeeds(parse: Callable[[str], Any]) -> Callable[[str], bool]:
    def call(text: str) -> bool:
        try:
            parse(text)
        except EvaluationError:
            return False
        return True

    return call


def _network(block: Cidr) -> Any:
    return ip_network(f"{block.address}/{block.length}", strict=False)


def _contains_ip(block: Cidr, address: Ip) -> bool:
    return address.address.version == block.address.version and address.address in _network(block)


def _contains_ip_text(block: Cidr, text: str) -> bool:
    try:
        return _contains_ip(block, ip(text))
    except EvaluationError:
        raise no_overload() from None


def _contains_cidr(block: Cidr, other: Cidr) -> bool:
    if block.address.version != other.address.version or block.length > other.length:
        return False
    return other.address in _network(block)


def _written(address: IPv4Address | IPv6Address) -> str:
    return str(address)


def _global_unicast(of: Ip) -> bool:
    address = of.address
    if isinstance(address, IPv4Address) and (int(address) in (0, 0xFFFFFFFF)):
        return False
    return not (address.is_unspecified or address.is_loopback or address.is_multicast or address.is_link_local)


def _link_local_multicast(of: Ip) -> bool:
    if isinstance(of.address, IPv4Address):
        return int(of.address) >> 8 == 0xE00000
    return int(of.address) >> 112 & 0xFF0F == 0xFF02


OVERLOADS: dict[str, Callable[..., Any]] = {
    "string_to_ip": ip,
    "cidr_ip": lambda block: Ip(block.address),
    "ip_family": lambda of: of.address.version,
    "ip_is_canonical": lambda text: _written(ip(text).address) == text,
    "ip_is_unspecified": lambda of: of.address.is_unspecified,
    "ip_is_loopback": lambda of: of.address.is_loopback,
    "ip_is_link_local_multicast": _link_local_multicast,
    "ip_is_link_local_unicast": lambda of: of.address.is_link_local,
    "ip_is_global_unicast": _global_unicast,
    "is_ip": _succeeds(ip),
    "ip_to_string": lambda of: _written(of.address),
    "string_to_cidr": cidr,
    "is_cidr": _succeeds(cidr),
    "cidr_contains_ip_string": _contains_ip_text,
    "cidr_contains_ip_ip": _contains_ip,
    "cidr_contains_cidr_string": lambda block, text: _contains_cidr(block, cidr(text)),
    "cidr_contains_cidr": _contains_cidr,
    "cidr_prefix_length": lambda block: block.length,
    "cidr_masked": lambda block: Cidr(_network(block).network_address, block.length),
    "cidr_to_string": str,
}
