"""Paths within a volume or a directory."""

from __future__ import annotations

from gateway.validation.field import FieldError, invalid


def validate_no_backsteps(target: str, path: str) -> list[FieldError]:
    return [invalid(path, target, "must not contain '..'")] if ".." in target.split("/") else []


def validate_local_descending_path(target: str, path: str) -> list[FieldError]:
    """The path must be relative and without `..`."""
    found = [invalid(path, target, "must be a relative path")] if target.startswith("/") else []
    return found + validate_no_backsteps(target, path)


def validate_local_non_reserved_path(target: str, path: str) -> list[FieldError]:
    found = validate_local_descending_path(target, path)
    if target.startswith("..") and not target.startswith("../"):
        found.append(invalid(path, target, "must not start with '..'"))
    return found
