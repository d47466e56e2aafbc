"""Parameters of storage and volume attributes classes."""

from __future__ import annotations

from gateway.validation.field import FieldError, invalid, required, too_long
from gateway.validation.formats import validate_qualified_name
from gateway.validation.names import byte_length

MAX_COUNT, MAX_SIZE = 512, 256 * 1024


def validate_provisioner(name: str, path: str) -> list[FieldError]:
    return validate_qualified_name(path, name.lower()) if name else [required(path)]


def validate_parameters(parameters: dict[str, str], path: str, *, allow_empty: bool) -> list[FieldError]:
    if len(parameters) > MAX_COUNT:
        return [too_long(path, MAX_COUNT)]
    found = [invalid(path, key, "field can not be empty.") for key in parameters if not key]
    if sum(byte_length(key) + byte_length(value) for key, value in parameters.items()) > MAX_SIZE:
        found.append(too_long(path, MAX_SIZE))
    if not allow_empty and not parameters:
        found.append(required(path, "must contain at least one key/value pair"))
    return found
