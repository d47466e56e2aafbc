"""Checks kind, apiVersion and metadata of embedded objects in custom ones (x-kubernetes-embedded-resource)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gateway.jsontypes import JsonObject
from gateway.validation.field import FieldError, invalid, path_to, required
from gateway.validation.names import is_dns1035_label, name_is_path_segment
from gateway.validation.objectmeta import validate_object_meta

Check = Callable[[Any, str], list[FieldError]]


def compile_embedded(schema: JsonObject) -> Check | None:
    """Returns a check of the embedded objects in a value at a path; None if the schema has none."""
    items, additional = schema.get("items"), schema.get("additionalProperties")
    each = compile_embedded(items) if isinstance(items, dict) else None
    others = compile_embedded(additional) if isinstance(additional, dict) else None
    members = {
        name: one for name, below in (schema.get("properties") or {}).items() if (one := compile_embedded(below))
    }
    known = schema.get("properties") or {}
    is_object = bool(schema.get("x-kubernetes-embedded-resource"))
    if not is_object and each is None and others is None and not members:
        return None

    def check(value: Any, path: str) -> list[FieldError]:
        found = list[FieldError]()
        if isinstance(value, dict):
            if is_object:
                found += _object(value, path)
            for name, member in value.items():
                if name in members:
                    found += members[name](member, _child(path, name))
                elif others is not None and name not in known:
                    found += others(member, path_to(path, f"[{name}]"))
        elif isinstance(value, list) and each is not None:
            for i, item in enumerate(value):
                found += each(item, f"{path}[{i}]")
        return found

    return check


def _child(path: str, name: str) -> str:
    return path_to(path, f".{name}" if path else name)


def _object(value: JsonObject, path: str) -> list[FieldError]:
    found = [required(f"{path}.{key}") for key in ("apiVersion", "kind") if key not in value]
    if "apiVersion" in value:
        found += _text(value["apiVersion"], f"{path}.apiVersion", _version_problem)
    if "kind" in value:
        found += _text(value["kind"], f"{path}.kind", _kind_problem)
    meta = value.get("metadata")
    if isinstance(meta, dict):
        named = {**meta, "name": meta.get("name") or "fakename"}
        found += validate_object_meta(
            named, bool(meta.get("namespace")), name_is_path_segment, f"{path}.metadata", standard_finalizers=False
        )
    return found


def _text(value: Any, path: str, problem: Callable[[str], str]) -> list[FieldError]:
    if not isinstance(value, str):
        return [invalid(path, value, "must be a string")]
    message = problem(value) if value else "must not be empty"
    return [invalid(path, value, message)] if message else []


def _version_problem(text: str) -> str:
    return f"unexpected GroupVersion string: {text}" if text.count("/") > 1 else ""


def _kind_problem(text: str) -> str:
    messages = is_dns1035_label(text.lower())
    return "may have mixed case, but should otherwise match: " + ",".join(messages) if messages else ""
