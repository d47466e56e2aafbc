"""StorageClasses (page "Storage Classes")."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from gateway.jsontypes import JsonObject
from gateway.kinds.strategy import Strategy, on_update
from gateway.kinds.write_context import WriteContext
from gateway.release.gates import Enabled
from gateway.validation.checks import immutable, known, same
from gateway.validation.field import FieldError, duplicate, first_places, forbidden, required
from gateway.validation.labels import validate_label_name
from gateway.validation.node_labels import DEPRECATED
from gateway.validation.objectmeta import recheck_object_meta_update, validate_object_meta
from gateway.validation.parameters import validate_parameters, validate_provisioner

RECLAIM_POLICIES, BINDING_MODES = ("Delete", "Retain"), ("Immediate", "WaitForFirstConsumer")


Selected = frozenset[tuple[str, frozenset[str]]]


def _term(term: JsonObject, path: str) -> tuple[Selected, list[FieldError]]:
    """The labels and values that a term selects, and its errors."""
    found, selected = list[FieldError](), dict[str, frozenset[str]]()
    for i, expression in enumerate(term.get("matchLabelExpressions") or ()):
        at = f"{path}.matchLabelExpressions[{i}]"
        key, values = expression.get("key", ""), expression.get("values") or []
        if not values:
            found.append(required(f"{at}.values"))
        first = first_places(values)
        found += [duplicate(f"{at}.values[{j}]", value) for j, value in enumerate(values) if first[value] < j]
        found += validate_label_name(key, f"{at}.key")
        if key in selected:
            found.append(duplicate(f"{at}.key", key))
        selected[key] = frozenset(values)
    return frozenset(selected.items()), found


def _topologies(terms: list[JsonObject]) -> list[FieldError]:
    found: list[FieldError] = []
    seen: Counter[Selected] = Counter({frozenset(): len(terms)})  # kube-apiserver compares with so many empty terms too
    for i, term in enumerate(terms):
        selected, errors = _term(term, f"allowedTopologies[{i}]")
        found += errors
        found += [duplicate(f"allowedTopologies[{i}].matchLabelExpressions", "") for _ in range(seen[selected])]
        seen[selected] += 1
    return found


def _validate(obj: JsonObject, context: WriteContext) -> list[FieldError]:
    found = validate_provisioner(obj.get("provisioner", ""), "provisioner")
    found += validate_parameters(obj.get("parameters") or {}, "parameters", allow_empty=True)
    if policy := obj.get("reclaimPolicy"):
        found += known("reclaimPolicy", policy, RECLAIM_POLICIES)
    mode = obj.get("volumeBindingMode")
    found += [required("volumeBindingMode")] if mode is None else known("volumeBindingMode", mode, BINDING_MODES)
    return found + _topologies(obj.get("allowedTopologies") or [])


def _warnings(obj: JsonObject, context: WriteContext) -> Iterator[str]:
    for i, term in enumerate(obj.get("allowedTopologies") or ()):
        for j, expression in enumerate(term.get("matchLabelExpressions") or ()):
            if text := DEPRECATED.get(expression.get("key", "")):
                yield f"allowedTopologies[{i}].matchLabelExpressions[{j}].key: {text}"


def strategies(enabled: Enabled) -> dict[str, Strategy]:
    """The strategy. StorageClassFieldsImmutable changes the errors for immutable fields."""
    refused = immutable if enabled("StorageClassFieldsImmutable") else _forbidden

    def validate_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
        found = validate_object_meta(obj["metadata"], False) + _validate(obj, context)
        found += recheck_object_meta_update(obj["metadata"], old["metadata"])
        for key, absent in (("parameters", None), ("provisioner", ""), ("reclaimPolicy", None)):
            found += refused(key, obj.get(key, absent), old.get(key, absent))
        return found + immutable("volumeBindingMode", obj.get("volumeBindingMode"), old.get("volumeBindingMode"))

    return {
        "": Strategy(
            validate=_validate,
            validate_update=validate_update,
            warnings_on_create=_warnings,
            warnings_on_update=on_update(_warnings),
            rechecks_metadata=False,
            returns_deleted=True,
        )
    }


def _forbidden(key: str, new: Any, old: Any) -> list[FieldError]:
    return [] if same(new, old) else [forbidden(key, f"updates to {key} are forbidden.")]
