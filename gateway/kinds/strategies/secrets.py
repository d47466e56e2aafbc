"""Secrets: keys that the types require, size, immutability (page "Secrets")."""

from __future__ import annotations

import base64

from gateway.jsontypes import JsonObject
from gateway.kinds.strategies.configmaps import MAX_SIZE, decoded_length, frozen
from gateway.kinds.strategy import Strategy, on_update
from gateway.kinds.write_context import WriteContext
from gateway.schema.errors import DecodeError, TooMany
from gateway.schema.outside import read_json
from gateway.validation.checks import each, immutable
from gateway.validation.field import FieldError, invalid, required, too_long
from gateway.validation.formats import is_config_map_key
from gateway.validation.objectmeta import validate_object_meta

ACCOUNT = "kubernetes.io/service-account.name"
TOKEN, TLS = "kubernetes.io/service-account-token", "kubernetes.io/tls"
BASIC, SSH = "kubernetes.io/basic-auth", "kubernetes.io/ssh-auth"
_READ_SLOWLY = 32 * 1024  # bytes of JSON up to which errors have the messages of Go's decoder
DOCKER = {"kubernetes.io/dockercfg": ".dockercfg", "kubernetes.io/dockerconfigjson": ".dockerconfigjson"}


def _validate(obj: JsonObject, context: WriteContext) -> list[FieldError]:
    data: dict[str, str] = obj.get("data") or {}
    found: list[FieldError] = []
    for key in data:
        found += each(f"data[{key}]", key, is_config_map_key(key))
    if sum(map(decoded_length, data.values())) > MAX_SIZE:
        found.append(too_long("data", MAX_SIZE))
    return found + _required_keys(obj, data)


def _required_keys(obj: JsonObject, data: dict[str, str]) -> list[FieldError]:
    kind = obj.get("type", "")
    if kind == TOKEN:
        named = (obj["metadata"].get("annotations") or {}).get(ACCOUNT)
        return [] if named else [required(f"metadata.annotations[{ACCOUNT}]")]
    if key := DOCKER.get(kind):
        if key not in data:
            return [required(f"data[{key}]")]
        problem = _json_problem(base64.b64decode(data[key]))
        return [invalid(f"data[{key}]", "<secret contents redacted>", problem)] if problem else []
    if kind == BASIC and "username" not in data and "password" not in data:
        return [required("data[username]"), required("data[password]")]
    if kind == SSH and not data.get("ssh-privatekey"):
        return [required("data[ssh-privatekey]")]
    if kind == TLS:
        return [required(f"data[{key}]") for key in ("tls.crt", "tls.key") if key not in data]
    return []


def _json_problem(content: bytes) -> str:
    """The message of Go's decoder for content that is not a JSON object; "" for an object."""
    try:
        value = _read(content)
    except (DecodeError, ValueError) as error:
        return str(error)
    if value is None or isinstance(value, dict):
        return ""
    names = {list: "array", str: "string", bool: "bool"}
    found = names.get(type(value), "number")
    return f"json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"


def _read(content: bytes) -> object:
    """Parses JSON. Raises DecodeError; for long content a plain ValueError, since Go's message takes long to find.

    A Secret has at most 1 MiB, and so fewer members than `read_json` refuses.
    """
    try:
        return read_json(content)
    except DecodeError as error:
        if len(content) <= _READ_SLOWLY or isinstance(error, TooMany):
            raise
        raise ValueError("invalid character looking for beginning of value") from None


def _prepare_for_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> None:
    if not obj.get("type") and old.get("type"):
        obj["type"] = old["type"]


def _validate_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    found = immutable("type", obj.get("type", ""), old.get("type", "")) + frozen(obj, old, ("data",), context)
    return found + validate_object_meta(obj["metadata"], True) + _validate(obj, context)


def _warnings(obj: JsonObject, context: WriteContext) -> list[str]:
    if obj.get("type") != TLS:
        return []
    from gateway.validation.key_pairs import key_pair_problem  # needs the cryptography package, seldom wanted

    data = obj.get("data") or {}
    problem = key_pair_problem(*(base64.b64decode(data.get(key, "")) for key in ("tls.crt", "tls.key")))
    return [problem] if problem else []


STRATEGIES = {
    "": Strategy(
        prepare_for_update=_prepare_for_update,
        validate=_validate,
        validate_update=_validate_update,
        warnings_on_create=_warnings,
        warnings_on_update=on_update(_warnings),
    )
}
