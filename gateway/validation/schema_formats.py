"""The formats of strings that schemas of custom resources may ask for, as go-openapi's strfmt checks them."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable
from ipaddress import IPv6Address
from typing import Any

import re2

from gateway.validation.names import is_dns1123_label, is_dns1123_subdomain

NUMBER_FORMATS = {"integer": ("int32", "int64"), "number": ("float", "double")}

Check = Callable[[str], bool]

_OPTIONS = re2.Options()
_OPTIONS.log_errors = False


class _Pattern:
    """A method of an RE2 pattern, compiled on the first call. Its time is linear in the length of the text."""

    __slots__ = ("_call", "_method", "_pattern")

    def __init__(self, pattern: str, method: str = "fullmatch") -> None:
        self._pattern, self._method = pattern, method
        self._call: Callable[..., Any] | None = None

    def __call__(self, *arguments: str) -> Any:
        if self._call is None:
            self._call = getattr(re2.compile(self._pattern, _OPTIONS), self._method)
        return self._call(*arguments)


_isbn10, _isbn13 = _Pattern("[0-9]{9}[0-9X]"), _Pattern("[0-9]{13}")
_scheme = _Pattern("[A-Za-z][A-Za-z0-9+.-]*:", "match")
# Symbols of any script count as letters, except in a top-level domain. Lengths are checked apart: an automaton that
# counts repetitions of such classes is huge.
_NAME = r"[0-9\p{S}\p{L}]"
_lone_name = _Pattern(rf"{_NAME}-?{_NAME}*")
_label = _Pattern(rf"{_NAME}(?:[0-9\p{{S}}\p{{L}}-]*{_NAME})?")
_top_level = _Pattern(r"\p{L}+")
_HEX = "[0-9a-fA-F]"
_date_parts = _Pattern(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_time_parts = _Pattern(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:.[0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})")
_card = _Pattern(
    r"4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}"
    r"|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11}"
)
_SHADE = r"(?:0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])"
_NOT_DIGITS = bytes(set(range(256)) - set(b"0123456789"))
_DASHES = str.maketrans("", "", "\t\n\f\r -")  # a pattern's `sub` takes a second for a million of them
_go_duration = _Pattern(r"[-+]?(?:0|(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+)")
# Python's matcher finds a million parts of a text in a twentieth of re2's time. It never goes back here.
_scala_duration = re.compile(r"(?<![0-9])[0-9]++[\t\n\f\r ]*+([A-Za-zµ]+)").finditer
_UNITS = (
    ("ns", "nano"), ("us", "µs", "micro"), ("ms", "milli"), ("s", "second"), ("m", "min", "minute"),
    ("h", "hr", "hour"), ("d", "day"), ("w", "wk", "week"),
)  # fmt: skip
_email = _Pattern(
    r"(?:[^<>@,;:\\\"\[\]()]*<)?[A-Za-z0-9!#$%&'*+/=?^_`{|}~\x{80}-\x{10ffff}-]+"
    r"(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~\x{80}-\x{10ffff}-]+)*@(?:[A-Za-z0-9!#$%&'*+/=?^_`{|}~\x{80}-\x{10ffff}-]+"
    r"(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~\x{80}-\x{10ffff}-]+)*|\[[^\[\]]*\])>?"
)
_mac = _Pattern(
    rf"{_HEX}{{2}}(?:(?::{_HEX}{{2}}){{5}}|(?:-{_HEX}{{2}}){{5}}|(?::{_HEX}{{2}}){{7}}|(?:-{_HEX}{{2}}){{7}}"
    rf"|(?::{_HEX}{{2}}){{19}}|(?:-{_HEX}{{2}}){{19}})"
    rf"|{_HEX}{{4}}(?:(?:\.{_HEX}{{4}}){{2}}|(?:\.{_HEX}{{4}}){{3}}|(?:\.{_HEX}{{4}}){{9}})"
)


def _by(pattern: str) -> Check:
    match = _Pattern(pattern)
    return lambda text: match(text) is not None


def _uuid(version: str, variant: str = "[0-9a-f]") -> Check:
    pattern = rf"(?i:[0-9a-f]{{8}}-?[0-9a-f]{{4}}-?{version}[0-9a-f]{{3}}-?{variant}[0-9a-f]{{3}}-?[0-9a-f]{{12}})"
    return _by(pattern)


def _is_hostname(text: str) -> bool:
    """A lone name, or labels and a top-level domain of letters."""
    *labels, last = text.split(".")
    if len(text.encode()) > 255 or any(len(part.encode()) > 63 for part in (*labels, last)):
        return False
    if not labels:
        return _lone_name(text) is not None
    return len(last) >= 2 and _top_level(last) is not None and all(_label(label) is not None for label in labels)


def _octets(text: str) -> bool:
    """Four decimal numbers, which may have leading zeros."""
    parts = text.split(".")
    return len(parts) == 4 and all(part.isascii() and part.isdigit() and int(part[-9:]) < 256 for part in parts)


def _is_ipv6(text: str) -> bool:
    if ":" not in text or "%" in text:
        return False
    try:
        IPv6Address(text)
    except ValueError:
        return False
    return True


def _is_cidr(text: str) -> bool:
    address, slash, bits = text.partition("/")
    if not slash or not bits.isascii() or not bits.isdigit() or len(bits := bits.lstrip("0") or "0") > 3:
        return False
    if ":" in address:
        return _is_ipv6(address) and int(bits) <= 128
    return _octets(address) and int(bits) <= 32


def _is_date(text: str) -> bool:
    parts = _date_parts(text)
    if parts is None or not 1 <= int(parts[2]) <= 12:
        return False
    year, month, day = (int(part) for part in parts.groups())
    return 1 <= day <= monthrange(year or 2000, month)[1]


def _is_datetime(text: str) -> bool:
    date, _, time = text.lower().partition("t")
    if len(text) < 4 or not _is_date(date):
        return False
    parts = _time_parts(time.partition("t")[0])
    return parts is not None and parts[1] <= "23" and parts[2] <= "59" and parts[3] <= "59"


def _is_duration(text: str) -> bool:
    if _go_duration(text):
        return True
    return any(map(_is_unit, {found[1].lower() for found in _scala_duration(text)}))


def _is_unit(unit: str) -> bool:
    return any(unit in names or unit.startswith(names[-1]) for names in _UNITS)


def _is_card(text: str) -> bool:
    digits = text.encode("ascii", "ignore").translate(None, _NOT_DIGITS).decode()
    if not _card(digits):
        return False
    doubled = [int(digit) * 2 if index % 2 else int(digit) for index, digit in enumerate(reversed(digits))]
    return sum(number % 10 + number // 10 for number in doubled) % 10 == 0


def _is_isbn10(text: str) -> bool:
    digits = text.translate(_DASHES)
    if _isbn10(digits) is None:
        return False
    return sum((i + 1) * (10 if char == "X" else int(char)) for i, char in enumerate(digits)) % 11 == 0


def _is_isbn13(text: str) -> bool:
    digits = text.translate(_DASHES)
    if _isbn13(digits) is None:
        return False
    return sum((3 if i % 2 else 1) * int(char) for i, char in enumerate(digits)) % 10 == 0


def _is_uri(text: str) -> bool:
    from gateway.validation.urls import parse_url

    if not text or any(ord(char) < 0x20 or ord(char) == 0x7F for char in text):
        return False
    scheme = _scheme(text)
    if scheme is None and not text.startswith("/"):
        return False
    try:
        parse_url(text)
    except ValueError:
        return False
    return True


_CHECKS: dict[str, Check] = {
    "bsonobjectid": _by(rf"{_HEX}{{24}}"),
    "uri": _is_uri,
    "email": lambda text: _email(text.strip()) is not None,
    "hostname": _is_hostname,
    "ipv4": _octets,
    "ipv6": _is_ipv6,
    "cidr": _is_cidr,
    "mac": lambda text: _mac(text) is not None,
    "uuid": _uuid("[0-9a-f]"),
    "uuid3": _uuid("3"),
    "uuid4": _uuid("4", "[89ab]"),
    "uuid5": _uuid("5", "[89ab]"),
    "isbn": lambda text: _is_isbn10(text) or _is_isbn13(text),
    "isbn10": _is_isbn10,
    "isbn13": _is_isbn13,
    "creditcard": _is_card,
    "ssn": _by(r"[0-9]{3}[- ][0-9]{2}[- ][0-9]{4}"),
    "hexcolor": _by(rf"#?(?:{_HEX}{{3}}|{_HEX}{{6}})"),
    "rgbcolor": _by(rf"rgb\(\s*{_SHADE}\s*,\s*{_SHADE}\s*,\s*{_SHADE}\s*\)"),
    "byte": _by(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})"),
    "password": lambda text: True,
    "date": _is_date,
    "duration": _is_duration,
    "datetime": _is_datetime,
    "k8sshortname": lambda text: not is_dns1123_label(text),
    "k8slongname": lambda text: not is_dns1123_subdomain(text),
}


def format_check(name: str) -> Check | None:
    """The check of whether a text has a format; None for a format that is not checked. Dashes in `name` are ignored."""
    return _CHECKS.get(name.replace("-", ""))


def known_format(kind: str, name: str) -> str:
    """The format `name` if it is checked for values of the type `kind`, else ""."""
    if kind in ("", "string"):
        return name if name.replace("-", "") in _CHECKS else ""
    return name if name in NUMBER_FORMATS.get(kind, ()) else ""
