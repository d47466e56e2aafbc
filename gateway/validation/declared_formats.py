"""The formats of declarative rules (k8s.io/apimachinery/pkg/api/validate/strfmt.go). Messages count bytes.

Each function takes a text and its path, and returns the errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from gateway.validation.field import FieldError, invalid, too_long
from gateway.validation.formats import is_c_identifier
from gateway.validation.names import (
    byte_length,
    is_dns1123_label,
    is_dns1123_subdomain,
    is_dns1123_subdomain_caseless,
    is_qualified_name,
    max_length_message,
)
from gateway.validation.resource_names import NATIVE_PREFIX, REQUESTS

MAX_LABEL, MAX_SUBDOMAIN, MAX_IDENTIFIER = 63, 253, 32
_BYTES = {max_length_message(most): max_length_message(most, "bytes") for most in (MAX_LABEL, MAX_SUBDOMAIN)}
_is_uuid = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}").fullmatch


def _errors(path: str, value: str, messages: Iterable[str], prefix: str = "") -> list[FieldError]:
    return [invalid(path, value, f"{prefix}{_BYTES.get(message, message)}") for message in messages]


def short_name(value: str, path: str) -> list[FieldError]:
    return _errors(path, value, is_dns1123_label(value))


def long_name(value: str, path: str) -> list[FieldError]:
    return _errors(path, value, is_dns1123_subdomain(value))


def caseless_long_name(value: str, path: str) -> list[FieldError]:
    return _errors(path, value, is_dns1123_subdomain_caseless(value))


def label_key(value: str, path: str) -> list[FieldError]:
    return _errors(path, value, is_qualified_name(value))


def prefixed_label_key(value: str, path: str) -> list[FieldError]:
    if (found := label_key(value, path)) or "/" in value:
        return found
    return [invalid(path, value, "must include a prefix (e.g. 'example.com/key')")]


def uuid(value: str, path: str) -> list[FieldError]:
    return [] if _is_uuid(value) else [invalid(path, value, "must be a lowercase UUID in 8-4-4-4-12 format")]


def pool_name(value: str, path: str) -> list[FieldError]:
    """Long names with slashes between them."""
    found = [too_long(path, MAX_SUBDOMAIN)] if byte_length(value) > MAX_SUBDOMAIN else []
    for i, part in enumerate(value.split("/")):
        if part:
            found += _errors(path, part, is_dns1123_subdomain(part), f"segment {i}: ")
        else:
            found.append(invalid(path, value, f"segment {i}: must not be empty"))
    return found


def extended_resource_name(value: str, path: str) -> list[FieldError]:
    """A name with a domain that is not Kubernetes' own, which may stand in a quota."""
    found = []
    if "/" not in value:
        found.append(invalid(path, value, "a name must be a domain-prefixed path, such as 'example.com/my-prop'"))
    elif NATIVE_PREFIX in value:
        found.append(invalid(path, value, f'must not have "{NATIVE_PREFIX}" domain'))
    if value.startswith(REQUESTS):
        found.append(invalid(path, value, f'must not have "{REQUESTS}" prefix'))
    return found + _errors(path, value, is_qualified_name(REQUESTS + value))


def fully_qualified_name(value: str, path: str) -> list[FieldError]:
    """A domain and an identifier with a slash between them. Of a name with more slashes, nothing is checked."""
    found, parts = list[FieldError](), value.split("/")
    if len(parts) == 2:
        found += _domain(parts[0], path)
    if len(parts) == 2 and not parts[1]:
        found.append(invalid(path, "", "name must not be empty"))
    elif len(parts) <= 2:
        found += _identifier(parts[-1], path)
    if len(parts) == 1:
        text = "a fully qualified name must be a domain and a name separated by a slash"
        found.append(invalid(path, value, text))
    return found


def _domain(domain: str, path: str) -> list[FieldError]:
    if not domain:
        return [invalid(path, "", "prefix must not be empty")]
    found = [too_long(path, MAX_LABEL)] if byte_length(domain) > MAX_LABEL else []
    return found + _errors(path, domain, is_dns1123_subdomain(domain), "prefix: ")


def _identifier(name: str, path: str) -> list[FieldError]:
    found = [too_long(path, MAX_IDENTIFIER)] if byte_length(name) > MAX_IDENTIFIER else []
    return found + _errors(path, name, is_c_identifier(name))
