"""References to other objects by group, kind or resource, and name."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.validation.checks import each, text
from gateway.validation.field import FieldError
from gateway.validation.names import is_dns1123_subdomain, is_path_segment_name


def validate_typed_reference(reference: JsonObject | None, path: str, kind: str = "kind") -> list[FieldError]:
    """Checks a reference with an optional apiGroup, a kind and a name. `kind` is the field's name, as "resource"."""
    if reference is None:
        return []
    found: list[FieldError] = []
    if (group := reference.get("apiGroup")) is not None:
        found += each(f"{path}.apiGroup", group, is_dns1123_subdomain(group))
    for key in (kind, "name"):
        found += text(f"{path}.{key}", reference.get(key), is_path_segment_name)
    return found
