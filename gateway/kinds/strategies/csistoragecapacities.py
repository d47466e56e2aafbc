"""CSIStorageCapacities: nodeTopology and storageClassName are immutable."""

from __future__ import annotations

from collections.abc import Iterable

from gateway.jsontypes import JsonObject
from gateway.kinds.strategy import Strategy, on_update
from gateway.kinds.write_context import WriteContext
from gateway.validation.checks import each, same
from gateway.validation.field import FieldError, invalid
from gateway.validation.internal_form import selector_json
from gateway.validation.labels import validate_label_selector
from gateway.validation.names import is_dns1123_subdomain
from gateway.validation.node_labels import selector_warnings
from gateway.validation.objectmeta import IMMUTABLE, recheck_object_meta_update, validate_object_meta
from gateway.validation.quantities import validate_nonnegative_quantity


def _validate_capacity(obj: JsonObject, any_value: bool) -> list[FieldError]:
    found = validate_label_selector(obj.get("nodeTopology"), "nodeTopology", allow_invalid_values=any_value)
    name = obj.get("storageClassName", "")
    found += each("storageClassName", name, is_dns1123_subdomain(name))
    if (capacity := obj.get("capacity")) is not None:
        found += validate_nonnegative_quantity(capacity, "capacity")
    return found


def _validate(obj: JsonObject, context: WriteContext) -> list[FieldError]:
    return _validate_capacity(obj, False)


def _validate_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    any_value = bool(validate_label_selector(old.get("nodeTopology"), ""))
    found = validate_object_meta(obj["metadata"], True) + _validate_capacity(obj, any_value)
    found += recheck_object_meta_update(obj["metadata"], old["metadata"])
    if not same(obj.get("nodeTopology"), old.get("nodeTopology")):
        found.append(invalid("nodeTopology", selector_json(obj.get("nodeTopology")), IMMUTABLE))
    name = obj.get("storageClassName", "")
    return found if name == old.get("storageClassName", "") else [*found, invalid("storageClassName", name, IMMUTABLE)]


def _warnings(obj: JsonObject, context: WriteContext) -> Iterable[str]:
    return selector_warnings(obj.get("nodeTopology"), "nodeTopology")


STRATEGIES = {
    "": Strategy(
        validate=_validate,
        validate_update=_validate_update,
        warnings_on_create=_warnings,
        warnings_on_update=on_update(_warnings),
        rechecks_metadata=False,
        allow_unconditional_update=False,
    )
}
