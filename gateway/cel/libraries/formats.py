"""Kubernetes' library of named formats: `format.dns1123Label().validate(name)`."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from gateway.cel.libraries.urls import url_problem
from gateway.cel.moments import parse_timestamp
from gateway.cel.values import NONE, EvaluationError, Optional, StringList, register
from gateway.validation.names import (
    is_label_value,
    is_qualified_name,
    name_is_dns1035_label,
    name_is_dns_label,
    name_is_dns_subdomain,
)

_UUID = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.IGNORECASE | re.ASCII)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)


@dataclass(slots=True, frozen=True)
class NamedFormat:
    """A format: its name, the function that finds a text's problems, and the size for which validation is charged."""

    name: str
    problems: Callable[[str], Iterable[str]]
    regex_size: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NamedFormat) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)


register(NamedFormat, "kubernetes.NamedFormat")


def _is_byte(text: str) -> bool:
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return False
    return bool(text)


def is_moment(text: str) -> bool:
    """Whether a text is an RFC 3339 timestamp."""
    try:
        return parse_timestamp(text) is not None
    except EvaluationError:
        return True


def is_date(text: str) -> bool:
    """Whether a text is a date of RFC 3339."""
    return _DATE.fullmatch(text) is not None and is_moment(f"{text}T00:00:00Z")


def _unless(valid: Callable[[str], bool], message: str) -> Callable[[str], Iterable[str]]:
    return lambda text: () if valid(text) else (message,)


FORMATS = {
    "dns1123Label": NamedFormat("DNS1123Label", lambda text: name_is_dns_label(text, False), 30),
    "dns1123Subdomain": NamedFormat("DNS1123Subdomain", lambda text: name_is_dns_subdomain(text, False), 60),
    "dns1035Label": NamedFormat("DNS1035Label", lambda text: name_is_dns1035_label(text, False), 30),
    "qualifiedName": NamedFormat("QualifiedName", is_qualified_name, 60),
    "dns1123LabelPrefix": NamedFormat("DNS1123LabelPrefix", lambda text: name_is_dns_label(text, True), 30),
    "dns1123SubdomainPrefix": NamedFormat("DNS1123SubdomainPrefix", lambda text: name_is_dns_subdomain(text, True), 60),
    "dns1035LabelPrefix": NamedFormat("DNS1035LabelPrefix", lambda text: name_is_dns1035_label(text, True), 30),
    "labelValue": NamedFormat("LabelValue", is_label_value, 40),
    "uri": NamedFormat("URI", lambda text: [problem] if (problem := url_problem(text)) else (), 1103),
    "uuid": NamedFormat(
        "uuid", _unless(lambda text: bool(_UUID.fullmatch(text)), "does not match the UUID format"), 71
    ),
    "byte": NamedFormat("byte", _unless(_is_byte, "invalid base64"), 84),
    "date": NamedFormat("date", _unless(is_date, "invalid date"), 70),
    "datetime": NamedFormat("datetime", _unless(is_moment, "invalid datetime"), 70),
}


def _validate(by: NamedFormat, text: str) -> Optional:
    problems = StringList(by.problems(text))
    return Optional(problems) if problems else NONE


def _constant(of: NamedFormat) -> Callable[[], NamedFormat]:
    return lambda: of


OVERLOADS: dict[str, Callable[..., Any]] = {
    **{f"format.{name}": _constant(each) for name, each in FORMATS.items()},
    "format-named": lambda name: Optional(FORMATS[name]) if name in FORMATS else NONE,
    "format-validate": _validate,
}
