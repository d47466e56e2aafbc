"""The list and map types in the schema of a custom resource (page "Server-Side Apply")."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.validation.field import FieldError, first_places, forbidden, invalid, not_supported, required

LIST, KEYS, MAP = "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type"
LIST_TYPES, MAP_TYPES = ("atomic", "set", "map"), ("atomic", "granular")


def validate_list_types(schema: JsonObject, path: str) -> list[FieldError]:
    """The extensions for list and map types must fit the type of the schema, and its elements."""
    found, kind, items = list[FieldError](), schema.get("type", ""), schema.get("items")
    list_type, map_type = schema.get(LIST), schema.get(MAP)
    if map_type is not None:
        found += _fits(kind, "object", f"must be object if {MAP} is specified", path)
        if map_type not in MAP_TYPES:
            found.append(not_supported(f"{path}.{MAP}", map_type, MAP_TYPES))
    if list_type is not None and kind != "array":
        found += _fits(kind, "array", f"must be array if {LIST} is specified", path)
    elif list_type == "set" and isinstance(items, dict):
        found += _atomic(items, f"{path}.items")
    if list_type is not None and list_type not in LIST_TYPES:
        found.append(not_supported(f"{path}.{LIST}", list_type, LIST_TYPES))
    if schema.get(KEYS) and list_type != "map":
        message = f"must be map if {KEYS} is non-empty"
        none = list_type is None
        found.append(required(f"{path}.{LIST}", message) if none else invalid(f"{path}.{LIST}", list_type, message))
    if list_type == "map":
        found += _map(schema, path)
    return found + _elements(schema, path)


def _fits(kind: str, wanted: str, message: str, path: str) -> list[FieldError]:
    if kind == wanted:
        return []
    return [invalid(f"{path}.type", kind, message) if kind else required(f"{path}.type", message)]


def _atomic(items: JsonObject, path: str) -> list[FieldError]:
    kind, list_type = items.get("type"), items.get(LIST)
    message = f"must be atomic as item of a list with {LIST}=set"
    if kind == "array" and list_type not in (None, "atomic"):
        return [invalid(f"{path}.{LIST}", list_type, message)]
    if kind == "object" and items.get(MAP) != "atomic":
        return [invalid(f"{path}.{MAP}", list_type, message)]
    return []


def _map(schema: JsonObject, path: str) -> list[FieldError]:
    found, keys, items = list[FieldError](), schema.get(KEYS) or [], schema.get("items")
    if not keys:
        found.append(required(f"{path}.{KEYS}", f"must not be empty if {LIST} is map"))
    if items is None:
        found.append(required(f"{path}.items", f"must have a schema if {LIST} is map"))
    elif not isinstance(items, dict):
        found.append(invalid(f"{path}.items", items, f"must only have a single schema if {LIST} is map"))
    elif (kind := items.get("type", "")) != "object":
        found.append(invalid(f"{path}.items.type", kind, f"must be object if parent array's {LIST} is map"))
    else:
        properties = items.get("properties") or {}
        first = first_places(keys)
        for i, key in enumerate(keys):
            if key not in properties:
                found.append(invalid(f"{path}.{KEYS}", keys, "entries must all be names of item properties"))
            elif properties[key].get("type") in ("array", "object"):
                where, message = f"{path}.items.properties[{key}].type", "must be a scalar type if parent array's"
                found.append(invalid(where, kind, f"{message} {LIST} is map"))
            if first[key] < i:
                found.append(invalid(f"{path}.{KEYS}", keys, "must not contain duplicate entries"))
    return found


def _elements(schema: JsonObject, path: str) -> list[FieldError]:
    """Errors about elements of sets and maps that may be null, and about keys of maps that may be null or absent."""
    found, items, list_type = list[FieldError](), schema.get("items"), schema.get(LIST)
    if not isinstance(items, dict) or list_type not in ("set", "map"):
        return found
    if items.get("nullable"):
        found.append(forbidden(f"{path}.items.nullable", f"cannot be nullable when {LIST} is {list_type}"))
    properties, needed = items.get("properties") or {}, items.get("required") or ()
    for key in (schema.get(KEYS) or ()) if list_type == "map" else ():
        if (member := properties.get(key)) is None:
            continue
        where, message = f"{path}.items.properties[{key}]", f"this property is in {KEYS}, so it"
        if key not in needed and "default" not in member:
            found.append(required(f"{where}.default", f"{message} must have a default or be a required property"))
        if member.get("nullable"):
            found.append(forbidden(f"{where}.nullable", f"{message} cannot be nullable"))
    return found
