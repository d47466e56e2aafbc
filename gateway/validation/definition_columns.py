"""Fields of a CustomResourceDefinition's version beside its schema: subresources, columns, selectable fields."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.validation.field import FieldError, duplicate, invalid, required, too_many
from gateway.validation.schema_paths import FieldPathError, follow

COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
COLUMN_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
MAX_SELECTABLE_FIELDS = 8


def _json_path(path: str, value: str) -> list[FieldError]:
    return [] if value.startswith(".") else [invalid(path, value, "must be a simple json path starting with .")]


def validate_subresources(subresources: JsonObject | None, path: str) -> list[FieldError]:
    """Checks the JSON paths of the scale subresource."""
    if (scale := (subresources or {}).get("scale")) is None:
        return []
    found = list[FieldError]()
    for key, part in (("specReplicasPath", "spec"), ("statusReplicasPath", "status")):
        where, value = f"{path}.scale.{key}", scale.get(key, "")
        if not value:
            found.append(required(where))
        elif errors := _json_path(where, value):
            found += errors
        elif not value.startswith(f".{part}."):
            found.append(invalid(where, value, f"should be a json path under .{part}"))
    if value := scale.get("labelSelectorPath"):
        where = f"{path}.scale.labelSelectorPath"
        if errors := _json_path(where, value):
            found += errors
        elif not value.startswith((".spec.", ".status.")):
            found.append(invalid(where, value, "should be a json path under either .spec or .status"))
    return found


def validate_columns(columns: list[JsonObject] | None, path: str) -> list[FieldError]:
    """Checks additional printer columns."""
    found = list[FieldError]()
    for i, column in enumerate(columns or ()):
        where, kind, form = f"{path}[{i}]", column.get("type", ""), column.get("format", "")
        if not column.get("name"):
            found.append(required(f"{where}.name"))
        message = f"must be one of {','.join(COLUMN_TYPES)}"
        if not kind:
            found.append(required(f"{where}.type", message))
        elif kind not in COLUMN_TYPES:
            found.append(invalid(f"{where}.type", kind, message))
        if form and form not in COLUMN_FORMATS:
            found.append(invalid(f"{where}.format", form, f"must be one of {','.join(COLUMN_FORMATS)}"))
        value = column.get("jsonPath", "")
        found += _json_path(f"{where}.JSONPath", value) if value else [required(f"{where}.JSONPath")]
    return found


def validate_selectable_fields(fields: list[JsonObject], schema: JsonObject, path: str) -> list[FieldError]:
    """Checks selectable fields: at most MAX_SELECTABLE_FIELDS, without duplicates.

    Each must be a string, boolean or integer in the schema, and not a field of metadata.
    """
    found, seen = list[FieldError](), set[tuple[str, ...]]()
    for i, one in enumerate(fields):
        where, value = f"{path}[{i}].jsonPath", one.get("jsonPath", "")
        if not value:
            found.append(required(where))
            continue
        try:
            steps, below = follow(value, schema, brackets=False)
        except FieldPathError as error:
            found.append(invalid(where, value, f"is an invalid path: {error}"))
            continue
        if steps[0] == "metadata":
            found.append(invalid(where, value, "must not point to fields in metadata"))
        if below.get("type") not in ("string", "boolean", "integer"):
            kinds = "must point to a field of type string, boolean or integer."
            found.append(invalid(where, value, f"{kinds} Enum string fields and strings with formats are allowed."))
        if tuple(steps) in seen:
            found.append(duplicate(where, value))
        seen.add(tuple(steps))
    return [*found, too_many(path, len(seen), MAX_SELECTABLE_FIELDS)] if len(seen) > MAX_SELECTABLE_FIELDS else found
