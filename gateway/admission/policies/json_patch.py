"""JSONPatch: the operations that a mutation makes, applied to the object's JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gateway.admission.policies.apply_configuration import MutationFailed
from gateway.admission.policies.json_values import JsonValues
from gateway.admission.policies.target_type import TargetType
from gateway.cel.patch_objects import misnamed
from gateway.cel.values import EvaluationError
from gateway.jsontypes import JsonObject
from gateway.patches.json_patch import MAX_OPERATIONS, PatchFailed, applied

_NULL = object()  # the null of a `test`: unlike null in a client's patch, it equals nothing


def apply_patches(obj: JsonObject, value: Any, target: TargetType, read: Iterable[Any]) -> JsonObject:
    """Applies JSON patch operations, which are the value of an expression, and returns the resulting object.

    If a `test` fails, that is `obj` itself. Raises MutationFailed, and StatusError 500 if the result cannot be decoded.
    """
    if len(value) > MAX_OPERATIONS:
        count = f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(value)}"
        raise MutationFailed(f"JSON Patch: {count}")
    values = JsonValues(exact=False)
    operations = [_operation(each, values) for each in value]
    try:
        return target.read(applied(obj, operations))
    except PatchFailed as error:
        if error.test:
            return obj
        raise MutationFailed(f"JSON Patch: {error}") from None


def _operation(patch: dict[str, Any], values: JsonValues) -> JsonObject:
    operation: JsonObject = {"op": patch["op"], "path": patch["path"]}
    if patch["from"]:
        operation["from"] = patch["from"]
    if "value" in patch:
        value = patch["value"]
        if wrong := misnamed(value):
            raise MutationFailed("type mismatch: " + "\n".join(wrong))
        try:
            operation["value"] = values.of(value)
        except EvaluationError as error:
            what = f"JSONPath valueExpression evaluated to a type that could not marshal to JSON: {error}"
            raise MutationFailed(what) from None
        if patch["op"] == "test" and operation["value"] is None:
            operation["value"] = _NULL
    return operation
