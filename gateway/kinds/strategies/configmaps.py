"""ConfigMaps: keys, size, immutability (page "ConfigMaps")."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.kinds.strategy import Strategy
from gateway.kinds.write_context import WriteContext
from gateway.validation.checks import each
from gateway.validation.field import FieldError, forbidden, invalid, too_long
from gateway.validation.formats import is_config_map_key
from gateway.validation.names import byte_length
from gateway.validation.objectmeta import validate_object_meta

MAX_SIZE = 1024 * 1024
FROZEN = "field is immutable when `immutable` is set"


def _validate(obj: JsonObject, context: WriteContext) -> list[FieldError]:
    data: dict[str, str] = obj.get("data") or {}
    binary: dict[str, str] = obj.get("binaryData") or {}
    found: list[FieldError] = []
    for key in data:
        if messages := is_config_map_key(key):
            found += each(f"data[{key}]", key, messages)
        if key in binary:
            found.append(invalid(f"data[{key}]", key, "duplicate of key present in binaryData"))
    for key in binary:
        found += each(f"binaryData[{key}]", key, is_config_map_key(key))
    # characters are at most four bytes each
    if sum(map(len, data.values())) * 4 + sum(map(len, binary.values())) > MAX_SIZE and _size(data, binary) > MAX_SIZE:
        found.append(too_long("[]", MAX_SIZE))
    return found


def _size(data: dict[str, str], binary: dict[str, str]) -> int:
    """The size of all values in bytes."""
    return sum(map(byte_length, data.values())) + sum(map(decoded_length, binary.values()))


def decoded_length(encoded: str) -> int:
    """The number of bytes that a base64 string stands for."""
    return len(encoded) * 3 // 4 - encoded.count("=", -2)


def frozen(obj: JsonObject, old: JsonObject, keys: tuple[str, ...], context: WriteContext) -> list[FieldError]:
    """The errors of an update that changes `keys` of an immutable object. A change from absent to empty is one."""
    if not old.get("immutable"):
        return []
    found = [] if obj.get("immutable") else [forbidden("immutable", FROZEN)]
    for key in keys:
        if key in context.unstored or (obj.get(key) or {}) != (old.get(key) or {}):
            found.append(forbidden(key, FROZEN))
    return found


def _validate_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    found = frozen(obj, old, ("data", "binaryData"), context)
    return found + validate_object_meta(obj["metadata"], True) + _validate(obj, context)


STRATEGIES = {"": Strategy(validate=_validate, validate_update=_validate_update)}
