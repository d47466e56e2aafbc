"""Entries of lists and maps that a served OpenAPI document describes: valid, as far as it tells, or wrong."""

from __future__ import annotations

import json
from enum import Enum
from typing import Any

Json = dict[str, Any]

# members that tell entries apart; without them validation ends early
_KEYS = (
    "name",
    "key",
    "type",
    "port",
    "containerPort",
    "ip",
    "mountPath",
    "kind",
    "apiVersion",
    "uid",
    "devicePath",
    "cidr",
    "host",
    "path",
    "operator",
    "driver",
    "manager",
    "topologyKey",
    "image",
)
# further members of objects in volumes; {} is the entry's number
_FURTHER: Json = {
    "KeyToPath": {"path": "a{}"},
    "DownwardAPIVolumeFile": {"path": "a{}", "fieldRef": {"fieldPath": "metadata.name"}},
    "ServiceAccountTokenProjection": {"path": "a{}"},
    "ClusterTrustBundleProjection": {"path": "a{}"},
    "PodCertificateProjection": {"signerName": "a.b/c", "keyType": "ED25519", "keyPath": "a{}"},
}


class Entries(Enum):
    """The kinds of entries that a field is filled with."""

    EQUAL = "equal"
    DISTINCT = "distinct"
    WRONG = "wrong"


def resolved(schemas: Json, schema: Json) -> Json:
    """The schema to which references lead."""
    while "$ref" in schema or len(schema.get("allOf") or ()) == 1:
        if "$ref" in schema:
            schema = schemas[schema["$ref"].rpartition("/")[2]]
        else:
            rest = {key: value for key, value in schema.items() if key != "allOf"}
            schema = {**rest, **resolved(schemas, schema["allOf"][0])}
    return schema


def reference(schema: Json) -> str:
    """The reference that a schema consists of; "" if it is another one."""
    found: str = schema.get("$ref") or (schema.get("allOf") or [{}])[0].get("$ref") or ""
    return found


def minimal(schemas: Json, schema: Json, number: int, name: str = "", depth: int = 0) -> Any:
    """A value with all required members, and with a number in the members that tell entries apart."""
    name_of_type = reference(schema).rpartition(".")[2]
    schema = resolved(schemas, schema)
    if "oneOf" in schema or "anyOf" in schema:
        return 80 if name.lower().endswith("port") else 1
    match schema.get("type"):
        case "array":
            return [] if depth > 3 else [minimal(schemas, schema["items"], number, name, depth + 1)]
        case "integer":
            return 1 + number % 60_000
        case "number":
            return 1
        case "boolean":
            return True
        case "string":
            return _text(schema.get("format", ""), name, number)
    members = schema.get("properties") or {}
    wanted = [*schema.get("required", ()), *(key for key in _KEYS if key in members)] if depth < 5 else []
    if members and not wanted and depth < 3 and all(_is_object(schemas, each) for each in members.values()):
        return _alternative(schemas, members, [*members][number % len(members)], number, depth)
    made = {key: minimal(schemas, members[key], number, key, depth + 1) for key in dict.fromkeys(wanted)}
    further = json.dumps(_FURTHER[name_of_type]).replace("{}", str(number)) if name_of_type in _FURTHER else "{}"
    return {**made, **json.loads(further)}


def _is_object(schemas: Json, schema: Json) -> bool:
    return bool(resolved(schemas, schema).get("properties"))


def _alternative(schemas: Json, members: Json, chosen: str, number: int, depth: int) -> Json:
    """One alternative of an object that has nothing but alternatives, with an entry in each list of objects."""
    made: Json = minimal(schemas, members[chosen], number, chosen, depth + 1)
    for key, each in (resolved(schemas, members[chosen]).get("properties") or {}).items():
        schema = resolved(schemas, each)
        if schema.get("type") == "array" and _is_object(schemas, schema["items"]):
            made[key] = [minimal(schemas, schema["items"], number, key, depth + 2)]
    return {chosen: made}


def _text(form: str, name: str, number: int) -> str:
    lower, address = name.lower(), f"10.{number // 250 % 250}.{number % 250}"
    if form == "byte":
        return "eA=="
    if form == "date-time":
        return "2024-01-01T00:00:00Z"
    if "cidr" in lower:
        return f"{address}.0/24"
    if lower.endswith("ip"):
        return f"{address}.1"
    if lower.endswith("path"):
        return f"/a{number}"
    return "true" if lower == "expression" else f"a{number}"


def entry(schemas: Json, item: Json, entries: Entries, number: int) -> Any:
    """An entry of a list or map: `number` is its place."""
    if entries is not Entries.WRONG:
        return minimal(schemas, item, 7 if entries is Entries.EQUAL else number)
    match resolved(schemas, item).get("type"):
        case "string":
            return f"-Not_Valid/{number}/"
        case "integer" | "number":
            return -1 - number
        case "boolean":
            return False
        case "array":
            return []
    return {}
