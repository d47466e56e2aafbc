"""Names of signers: a domain, a slash, a path (page "Certificate Signing Requests")."""

from __future__ import annotations

from gateway.validation.field import FieldError, go_quote, invalid, required, too_long
from gateway.validation.names import byte_length, is_dns1123_label, is_dns1123_subdomain

MAX_DOMAIN, MAX_NAME = 253, 571


def validate_signer_name(name: str, path: str) -> list[FieldError]:
    if not name:
        return [required(path)]
    segments = name.split("/")
    if len(segments) != 2:
        message = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        return [invalid(path, name, message)]
    domain, rest = segments
    labels = domain.split(".")
    found = [too_long(path, MAX_DOMAIN)] if byte_length(domain) > MAX_DOMAIN else []
    found += _first_wrong(domain, path, [(label, is_dns1123_label(label)) for label in labels])
    if len(labels) < 2:
        found.append(invalid(path, domain, "should be a domain with at least two segments separated by dots"))
    found += _first_wrong(rest, path, [(label, is_dns1123_subdomain(label)) for label in rest.split(".")])
    if byte_length(name) > MAX_NAME:
        found.append(too_long(path, MAX_NAME))
    return found


def _first_wrong(segment: str, path: str, checked: list[tuple[str, tuple[str, ...]]]) -> list[FieldError]:
    for label, messages in checked:
        if messages:
            return [invalid(path, segment, f"validating label {go_quote(label)}: {text}") for text in messages]
    return []
