"""What OpenAPI documents of an earlier minor have otherwise than those of the catalog's minor: data/openapi.json.

    {MINOR: {"parameters": names of query parameters that the minor does not have,
             "types": {TYPE NAME: null if the minor lacks it, {"schema": its schema} if the catalog lacks it, else
                       {"properties": {NAME: schema, null for none}, "required": names,
                        "kinds": x-kubernetes-group-version-kind}}}}

hack/minors/openapi.py makes the file from the documents of a kube-apiserver of the minor. Descriptions are not in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from gateway.jsontypes import JsonObject, loads

_KINDS = "x-kubernetes-group-version-kind"
_HERE = "#/components/schemas/"
FILE = Path(__file__).parent / "data" / "openapi.json"


@cache
def _document() -> Mapping[str, Any]:
    content: dict[str, Any] = loads(FILE.read_bytes())
    return content


def schemas_as_of(minor: str, schemas: JsonObject, kinds: bool = True) -> JsonObject:
    """Schemas of OpenAPI v3 as a minor has them; with the same kinds of each type unless `kinds`."""
    facts = _document().get(minor)
    if facts is None:
        return schemas
    corrected: JsonObject = {}
    for name, schema in schemas.items():
        correction = facts["types"].get(name, {})
        if correction is not None:
            corrected[name] = _corrected(schema, correction, kinds)
    missing = [name for schema in corrected.values() for name in _references(schema) if name not in corrected]
    corrected |= {name: facts["types"][name]["schema"] for name in missing if name in facts["types"]}
    return dict(sorted(corrected.items()))


def paths_as_of(minor: str, paths: JsonObject) -> JsonObject:
    """Paths without the parameters that a minor does not have."""
    facts = _document().get(minor)
    return paths if facts is None else dict(_without(frozenset(facts["parameters"]), paths))


def _corrected(schema: JsonObject, correction: JsonObject, kinds: bool) -> JsonObject:
    made = dict(schema)
    if changed := correction.get("properties"):
        merged = {**schema.get("properties", {}), **changed}
        made["properties"] = {name: each for name, each in merged.items() if each is not None}
    for key, member in (("required", "required"), *([("kinds", _KINDS)] if kinds else ())):
        if key in correction:
            made[member] = correction[key]
            if not correction[key]:
                del made[member]
    return made


def _references(schema: Any) -> list[str]:
    if isinstance(schema, list):
        return [name for each in schema for name in _references(each)]
    if not isinstance(schema, dict):
        return []
    own = schema.get("$ref", "")
    found = [name for each in schema.values() for name in _references(each)]
    return [own.removeprefix(_HERE), *found] if isinstance(own, str) and own.startswith(_HERE) else found


def _without(names: frozenset[str], value: Any) -> Any:
    """Paths without the parameters of these names."""
    if isinstance(value, list):
        return [_without(names, each) for each in value if not (isinstance(each, dict) and each.get("name") in names)]
    if isinstance(value, dict):
        return {key: _without(names, each) for key, each in value.items()}
    return value
