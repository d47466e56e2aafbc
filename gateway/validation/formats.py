"""Formats of values in specs: ports, percentages, environment names, keys, HTTP headers, conditions.

Each `is_*` function returns messages about the errors of a value, none if it is valid. Each `validate_*` function takes
the field's path and value, and returns field errors.
"""

from __future__ import annotations

import re
from typing import Any

from gateway.memo import memo
from gateway.validation.field import FieldError, invalid, required
from gateway.validation.names import (
    VALID,
    Messages,
    byte_length,
    is_dns1123_label,
    is_dns1123_subdomain,
    is_dns1123_subdomain_with_underscore,
    is_qualified_name,
    max_length_message,
    range_message,
    regex_message,
)

NOT_NEGATIVE = "must be greater than or equal to 0"
POSITIVE = "must be greater than zero"
MAX_ID = 2**31 - 1

_ENV_FORMAT = "[-._a-zA-Z][-._a-zA-Z0-9]*"
_KEY_FORMAT = r"[-._a-zA-Z0-9]+"
_PERCENT_FORMAT = "[0-9]+%"
_HEADER_FORMAT = "[-A-Za-z0-9]+"
_HTTP_PATH_FORMAT = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
_IDENTIFIER_FORMAT = "[A-Za-z_][A-Za-z0-9_]*"

_is_env_name = re.compile(_ENV_FORMAT).fullmatch
_is_key = re.compile(_KEY_FORMAT).fullmatch
_is_percent = re.compile(_PERCENT_FORMAT).fullmatch
_is_header = re.compile(_HEADER_FORMAT).fullmatch
_is_http_path = re.compile(_HTTP_PATH_FORMAT).fullmatch
_is_identifier = re.compile(_IDENTIFIER_FORMAT).fullmatch
_is_port_characters = re.compile("[-a-z0-9]+").fullmatch
_has_letter = re.compile("[a-z]").search
_is_printable_ascii = re.compile(r"[ -<>-~]*").fullmatch

_ENV = regex_message(
    "a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', and must not "
    "start with a digit",
    _ENV_FORMAT,
    "my.env-name",
    "MY_ENV.NAME",
    "MyEnvName1",
)
_RELAXED_ENV = "a valid environment variable name must consist only of printable ASCII characters other than '='"
_KEY = regex_message(
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
    _KEY_FORMAT,
    "key.name",
    "KEY_NAME",
    "key-name",
)
_PERCENT = regex_message(
    "a valid percent string must be a numeric string followed by an ending '%'", _PERCENT_FORMAT, "1%", "93%"
)
_HEADER = regex_message(
    "a valid HTTP header must consist of alphanumeric characters or '-'", _HEADER_FORMAT, "X-Header-Name"
)
_IDENTIFIER = regex_message(
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters "
    "or '_'",
    _IDENTIFIER_FORMAT,
    "my_name",
    "MY_NAME",
    "MyName",
)
_PORT_RANGE: Messages = (range_message(1, 65535),)
_ID_RANGE: Messages = (range_message(0, MAX_ID),)


def is_port_number(port: int) -> Messages:
    return VALID if 1 <= port <= 65535 else _PORT_RANGE


def is_user_id(identifier: int) -> Messages:
    """Checks the ID of a user or a group."""
    return VALID if 0 <= identifier <= MAX_ID else _ID_RANGE


@memo(1 << 18)
def is_port_name(port: str) -> Messages:
    """Checks an IANA service name (RFC 6335 section 5.1)."""
    found = []
    if byte_length(port) > 15:
        found.append(max_length_message(15))
    if not _is_port_characters(port):
        found.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not _has_letter(port):
        found.append("must contain at least one letter (a-z)")
    if "--" in port:
        found.append("must not contain consecutive hyphens")
    if port.startswith("-") or port.endswith("-"):
        found.append("must not begin or end with a hyphen")
    return tuple(found)


def is_percent(value: str) -> Messages:
    return VALID if _is_percent(value) else (_PERCENT,)


def is_http_header_name(value: str) -> Messages:
    return VALID if _is_header(value) else (_HEADER,)


def is_c_identifier(value: str) -> Messages:
    return VALID if _is_identifier(value) else (_IDENTIFIER,)


def _parent_directory(value: str) -> Messages:
    if value in (".", ".."):
        return (f"must not be '{value}'",)
    return ("must not start with '..'",) if value.startswith("..") else VALID


@memo()
def is_env_var_name(value: str) -> Messages:
    return (VALID if _is_env_name(value) else (_ENV,)) + _parent_directory(value)


@memo()
def is_relaxed_env_var_name(value: str) -> Messages:
    if not value:
        return ("environment variable name must be non-empty",)
    return VALID if _is_printable_ascii(value) else (_RELAXED_ENV,)


@memo()
def is_config_map_key(value: str) -> Messages:
    found = (max_length_message(253),) if byte_length(value) > 253 else VALID
    return found + (VALID if _is_key(value) else (_KEY,)) + _parent_directory(value)


def errors_of(path: str, value: Any, messages: Messages) -> list[FieldError]:
    """One "Invalid value" for each message."""
    return [invalid(path, value, message) for message in messages]


def validate_dns1123_label(path: str, value: str) -> list[FieldError]:
    return [invalid(path, value, message) for message in is_dns1123_label(value)]


def validate_dns1123_subdomain(path: str, value: str) -> list[FieldError]:
    return [invalid(path, value, message) for message in is_dns1123_subdomain(value)]


def validate_dns1123_subdomain_with_underscore(path: str, value: str) -> list[FieldError]:
    return [invalid(path, value, message) for message in is_dns1123_subdomain_with_underscore(value)]


def validate_qualified_name(path: str, value: str) -> list[FieldError]:
    return [invalid(path, value, message) for message in is_qualified_name(value)]


def validate_nonnegative(path: str, value: int) -> list[FieldError]:
    return [invalid(path, value, NOT_NEGATIVE)] if value < 0 else []


def validate_positive(path: str, value: int) -> list[FieldError]:
    return [invalid(path, value, POSITIVE)] if value <= 0 else []


def validate_domain_prefixed_path(path: str, value: str) -> list[FieldError]:
    """The value must be a DNS subdomain, "/" and an HTTP path, as in managedBy of Jobs."""
    if not value:
        return [required(path)]
    host, slash, rest = value.partition("/")
    if not slash or not host or not rest:
        return [invalid(path, value, 'must be a domain-prefixed path (such as "acme.io/foo")')]
    found = [invalid(path, host, message) for message in is_dns1123_subdomain(host)]
    if not _is_http_path(rest):
        found.append(invalid(path, rest, regex_message("Invalid path", _HTTP_PATH_FORMAT)))
    return found


def validate_domain_prefixed_key(path: str, value: str) -> list[FieldError]:
    if not value:
        return [required(path)]
    found = validate_qualified_name(path, value)
    if not found and value.count("/") != 1:
        return [invalid(path, value, 'must be a domain-prefixed key (such as "acme.io/foo")')]
    return found


def validate_fully_qualified_name(path: str, value: str) -> list[FieldError]:
    """The value must be a DNS name of at least three segments."""
    if not value:
        return [required(path)]
    if messages := is_dns1123_subdomain(value):
        return [invalid(path, value, ",".join(messages))]
    if value.count(".") < 2:
        return [invalid(path, value, "should be a domain with at least three segments separated by dots")]
    return []


def validate_fully_qualified_domain_name(path: str, value: str) -> list[FieldError]:
    if not value:
        return [required(path)]
    name = value.removesuffix(".")
    if messages := is_dns1123_subdomain(name):
        return [invalid(path, name, ",".join(messages))]
    if "." not in name:
        return [invalid(path, name, "should be a domain with at least two segments separated by dots")]
    for label in name.split("."):
        if messages := is_dns1123_label(label):
            return [invalid(path, label, ",".join(messages))]
    return []
