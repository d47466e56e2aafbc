"""The paths of the scale subresource in custom objects ("Scale subresource")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gateway.jsontypes import JsonObject
from gateway.validation.field import FieldError, invalid
from gateway.validation.go_print import go_print, go_type

MOST = 2**31 - 1
INT64 = range(-(2**63), 2**63)


class WrongType(ValueError):
    """The value at a path has the wrong type."""


def at_path(obj: JsonObject, path: tuple[str, ...], type_: type, name: str) -> Any:
    """The value at a path; None if there is none. Raises WrongType, with the message of apimachinery's unstructured."""
    value: Any = obj
    for i, step in enumerate(path):
        if value is None:
            return None
        if not isinstance(value, dict):
            raise _wrong(path[: i + 1], value, "map[string]interface{}")
        if step not in value:
            return None
        value = value[step]
    if type(value) is not type_ or (type_ is int and value not in INT64):
        raise _wrong(path, value, name)
    return value


def _wrong(path: tuple[str, ...], value: Any, expected: str) -> WrongType:
    kind = "<nil>" if value is None else go_type(value)
    where = "".join(f".{step}" for step in path)
    return WrongType(f"{where} accessor error: {go_print(value)} is of the type {kind}, expected {expected}")


@dataclass(frozen=True, slots=True)
class ScalePaths:
    """The paths as the CRD has them; "" without a scale subresource, or without a selector."""

    spec: str = ""
    status: str = ""
    selector: str = ""

    @classmethod
    def of(cls, subresources: JsonObject) -> ScalePaths:
        """The paths in the `subresources` of a CRD's version."""
        scale = subresources.get("scale")
        if scale is None:
            return cls()
        return cls(scale["specReplicasPath"], scale["statusReplicasPath"], scale.get("labelSelectorPath") or "")

    def spec_errors(self, obj: JsonObject) -> list[FieldError]:
        """The errors of the number of replicas in the spec."""
        return _number_errors(obj, self.spec) if self.spec else []

    def status_errors(self, obj: JsonObject) -> list[FieldError]:
        """The errors of the number of replicas in the status, and of the selector."""
        found = _number_errors(obj, self.status) if self.status else []
        if self.selector:
            try:
                at_path(obj, steps(self.selector), str, "string")
            except WrongType as error:
                found.append(invalid(self.selector, "", str(error)))
        return found


def steps(path: str) -> tuple[str, ...]:
    """The field names in a path such as ".spec.replicas"."""
    return tuple(path.removeprefix(".").split("."))


def _number_errors(obj: JsonObject, path: str) -> list[FieldError]:
    try:
        value = at_path(obj, steps(path), int, "int64") or 0
    except WrongType as error:
        return [invalid(path, 0, str(error))]
    if value < 0:
        return [invalid(path, value, "should be a non-negative integer")]
    return [invalid(path, value, f"should be less than or equal to {MOST}")] if value > MOST else []
