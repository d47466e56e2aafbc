"""PersistentVolumeClaims: mutable fields of a bound claim, data sources (KEP-1495), status."""

from __future__ import annotations

from copy import deepcopy

from gateway.jsontypes import JsonObject
from gateway.kinds.strategies.status import keep_spec, keep_status
from gateway.kinds.strategy import Strategy, on_update
from gateway.kinds.write_context import WriteContext
from gateway.validation.checks import immutable, same
from gateway.validation.claim_spec import validate_claim_spec
from gateway.validation.field import FieldError, forbidden, go_quote, invalid, not_supported, required
from gateway.validation.formats import validate_qualified_name
from gateway.validation.go_structs import claim_difference
from gateway.validation.labels import validate_label_selector
from gateway.validation.objectmeta import IMMUTABLE, validate_object_meta
from gateway.validation.quantities import is_fractional, quantity_of, validate_quantity
from gateway.validation.resource_names import is_native
from gateway.validation.volume_health import validate_volume_health

CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
RESIZE_STATUSES = (
    "ControllerResizeInProgress",
    "ControllerResizeInfeasible",
    "NodeResizeInProgress",
    "NodeResizeInfeasible",
    "NodeResizePending",
)
_ONLY_SIZE = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"


def _drop_foreign_sources(spec: JsonObject, before: JsonObject) -> None:
    """Drops references that are not allowed: to another namespace, and in dataSource to other kinds.

    dataSource without dataSourceRef may only name a PersistentVolumeClaim or a VolumeSnapshot. A stored claim that has
    such a reference keeps it.
    """
    if (spec.get("dataSourceRef") or {}).get("namespace") and "dataSourceRef" not in before:
        del spec["dataSourceRef"]
    if "dataSource" in before or "dataSourceRef" in before or "dataSourceRef" in spec:
        return
    source = spec.get("dataSource") or {}
    allowed = (("PersistentVolumeClaim", ""), ("VolumeSnapshot", "snapshot.storage.k8s.io"))
    if (source.get("kind"), source.get("apiGroup") or "") not in allowed:
        spec.pop("dataSource", None)


def normalize_sources(spec: JsonObject) -> None:
    """If only one of dataSource and dataSourceRef is set, sets the other to the same value."""
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None and reference is None:
        spec["dataSourceRef"] = dict(source)
    elif reference is not None and source is None and not reference.get("namespace"):
        spec["dataSource"] = {key: value for key, value in reference.items() if key != "namespace"}


def on_read(claim: JsonObject, primary_family: str) -> None:
    """Sets both data source fields of a claim that was stored with one of them."""
    if spec := claim.get("spec"):
        normalize_sources(spec)


def _prepare_for_create(obj: JsonObject, context: WriteContext) -> None:
    obj["status"] = {"phase": "Pending"}  # the default of an empty status
    _drop_foreign_sources(obj["spec"], {})
    normalize_sources(obj["spec"])


def _prepare_for_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> None:
    keep_status(obj, old, context)
    _drop_foreign_sources(obj["spec"], old.get("spec", {}))
    normalize_sources(obj["spec"])


def _validate_spec(obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
    before, found = (old or {}).get("spec", {}), list[FieldError]()
    sources = [before.get(key) or {} for key in ("dataSource", "dataSourceRef")]
    validate_claim_spec(
        obj.get("spec", {}),
        "spec",
        found,
        any_selector_values=bool(validate_label_selector(before.get("selector"), "")),
        any_api_group=any(source.get("apiGroup") is not None for source in sources),
    )
    return found


def _validate(obj: JsonObject, context: WriteContext) -> list[FieldError]:
    return _validate_spec(obj, None)


def _validate_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    found = validate_object_meta(obj["metadata"], True) + _validate_spec(obj, old)
    spec, before = deepcopy(obj.get("spec", {})), deepcopy(old.get("spec", {}))
    normalize_sources(before)
    if not before.get("volumeName") and spec.get("volumeName"):
        before["volumeName"] = spec["volumeName"]
    found += _class_moves(obj, old, spec, before)
    status = obj.get("status") or {}
    sizes = [(claim.get("spec", {}).get("resources", {}).get("requests") or {}).get("storage") for claim in (old, obj)]
    if status.get("phase") == "Bound":
        if requests := spec.get("resources", {}).get("requests"):
            requests["storage"] = sizes[0] or "0"
        spec.pop("volumeAttributesClassName", None)
        if "volumeAttributesClassName" in before:
            spec["volumeAttributesClassName"] = before["volumeAttributesClassName"]
    if not same(spec, before):
        found.append(forbidden("spec", f"{_ONLY_SIZE}\n{claim_difference(before, spec)}"))
    old_size, new_size = quantity_of(sizes[0]), quantity_of(sizes[1])
    capacity = ((old.get("status") or {}).get("capacity") or {}).get("storage")
    if new_size < old_size and new_size <= quantity_of(capacity):
        found.append(forbidden("spec.resources.requests.storage", "field can not be less than status.capacity"))
    found += immutable("volumeMode", obj["spec"].get("volumeMode"), old["spec"].get("volumeMode"))
    return found + _attributes_class(obj, old)


def _class_moves(obj: JsonObject, old: JsonObject, spec: JsonObject, before: JsonObject) -> list[FieldError]:
    """Allows moving the storage class from its old annotation to the field, and setting it once.

    An allowed change is removed from `spec`, so that it equals `before`. Other changes of the annotation are errors.
    """
    annotated, was = (claim["metadata"].get("annotations") or {} for claim in (obj, old))
    name, old_name = spec.get("storageClassName"), before.get("storageClassName")
    old_class, new_class = was.get(CLASS_ANNOTATION), annotated.get(CLASS_ANNOTATION)
    unnamed = old_name is None and name is not None
    if unnamed and old_class is not None and name == old_class and new_class in (None, old_class):
        del spec["storageClassName"]
        return []
    if unnamed and old_class in (None, name):
        del spec["storageClassName"]
    if (new_class or "") == (old_class or ""):
        return []
    return [invalid(f"metadata.annotations.{CLASS_ANNOTATION}", new_class or "", IMMUTABLE)]


def _attributes_class(obj: JsonObject, old: JsonObject) -> list[FieldError]:
    key, path = "volumeAttributesClassName", "spec.volumeAttributesClassName"
    name = obj["spec"].get(key)
    applied = "currentVolumeAttributesClassName" in (old.get("status") or {})
    if name == old["spec"].get(key) or not applied or name:
        return []
    what = "nil" if name is None else "empty string"
    return [forbidden(path, f"update to {what} is forbidden when status.currentVolumeAttributesClassName is not nil")]


def _resource_key(name: str, path: str) -> list[FieldError]:
    found = validate_qualified_name(path, name)
    if not found and is_native(name) and name != "storage":
        found.append(not_supported(path, name, ("storage",)))
    return found


def _basic(path: str, value: str) -> list[FieldError]:
    whole = quantity_of(value).value
    return [invalid(path, whole, "must be a valid resource quantity")] if whole < 0 else []


def _validate_status(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    found = [] if obj["metadata"].get("resourceVersion") else [required("resourceVersion")]
    if not obj.get("spec", {}).get("accessModes"):
        found.append(required("Spec.accessModes"))
    status = obj.get("status") or {}
    for name, value in (status.get("capacity") or {}).items():
        found += _basic(f"status.capacity[{name}]", value)
    if "healthStatus" in status:
        found += validate_volume_health(status["healthStatus"] or {}, "status.healthStatus")
    path = "status.allocatedResourceStatuses"
    for name, value in (status.get("allocatedResourceStatuses") or {}).items():
        found += _resource_key(name, path)
        if value not in RESIZE_STATUSES:
            found.append(not_supported(path, name, sorted(RESIZE_STATUSES)))
    path = "status.allocatedResources"
    for name, value in (status.get("allocatedResources") or {}).items():
        errors = _resource_key(name, path) or _basic(f"{path}[{name}]", value)
        if not errors:
            validate_quantity("storage", value, f"{path}[{name}]", errors)
        found += errors
    return found


def _warnings(obj: JsonObject, context: WriteContext) -> list[str]:
    found = []
    if CLASS_ANNOTATION in (obj["metadata"].get("annotations") or {}):
        text = 'deprecated since v1.8; use "storageClassName" attribute instead'
        found.append(f"metadata.annotations[{CLASS_ANNOTATION}]: {text}")
    for key in ("requests", "limits"):
        value = (obj.get("spec", {}).get("resources", {}).get(key) or {}).get("storage")
        if value is not None and is_fractional(value):
            text = f"fractional byte value {go_quote(value)} is invalid, must be an integer"
            found.append(f"spec.resources.{key}[storage]: {text}")
    return found


STRATEGIES = {
    "": Strategy(
        prepare_for_create=_prepare_for_create,
        prepare_for_update=_prepare_for_update,
        validate=_validate,
        validate_update=_validate_update,
        warnings_on_create=_warnings,
        warnings_on_update=on_update(_warnings),
        reset_fields=(("status",),),
        returns_deleted=True,
    ),
    "status": Strategy(prepare_for_update=keep_spec, validate_update=_validate_status, reset_fields=(("spec",),)),
}
