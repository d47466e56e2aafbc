"""The spec of a PersistentVolumeClaim: in the object, in an ephemeral volume, and in a StatefulSet."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.validation.field import FieldError, forbidden, invalid, not_supported, required
from gateway.validation.labels import validate_annotations, validate_label_selector, validate_labels
from gateway.validation.names import is_dns1123_label, is_dns1123_subdomain
from gateway.validation.quantities import validate_positive_quantity

ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES = ("Block", "Filesystem")
# in the order of the fields of Go's ObjectMeta
_NOT_IN_TEMPLATES = [
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "ownerReferences",
    "finalizers",
    "managedFields",
]
_CORE_ONLY = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"


def validate_claim_template(template: JsonObject, path: str, errors: list[FieldError]) -> None:
    """Checks a PersistentVolumeClaimTemplate. Its metadata may have only labels and annotations."""
    meta = template.get("metadata") or {}
    errors += validate_annotations(meta.get("annotations") or {}, f"{path}.metadata.annotations")
    errors += validate_labels(meta.get("labels") or {}, f"{path}.metadata.labels")
    for key in _NOT_IN_TEMPLATES:
        if meta.get(key) not in (None, ""):
            shown = "uID" if key == "uid" else key
            errors.append(forbidden(f"{path}.metadata.{shown}", "cannot be set"))
    validate_claim_spec(template.get("spec") or {}, f"{path}.spec", errors)


def validate_claim_spec(
    spec: JsonObject,
    path: str,
    errors: list[FieldError],
    *,
    any_selector_values: bool = False,
    any_api_group: bool = False,
) -> None:
    """The two options relax rules, for updates of claims that have such values already."""
    modes = spec.get("accessModes") or ()
    if not modes:
        errors.append(required(f"{path}.accessModes", "at least 1 access mode is required"))
    if "selector" in spec:
        errors += validate_label_selector(
            spec["selector"], f"{path}.selector", allow_invalid_values=any_selector_values
        )
    errors += [not_supported(f"{path}.accessModes", mode, ACCESS_MODES) for mode in modes if mode not in ACCESS_MODES]
    if "ReadWriteOncePod" in modes and any(m in ACCESS_MODES and m != "ReadWriteOncePod" for m in modes):
        errors.append(forbidden(f"{path}.accessModes", "may not use ReadWriteOncePod with other access modes"))
    requests = (spec.get("resources") or {}).get("requests") or {}
    at = f"{path}.resources[storage]"
    errors += validate_positive_quantity(requests["storage"], at) if "storage" in requests else [required(at)]
    _class_name(spec, "storageClassName", path, errors)
    if "volumeMode" in spec and spec["volumeMode"] not in VOLUME_MODES:
        errors.append(not_supported(f"{path}.volumeMode", spec["volumeMode"], VOLUME_MODES))
    _data_sources(spec, path, errors, any_api_group)
    _class_name(spec, "volumeAttributesClassName", path, errors)


def _class_name(spec: JsonObject, key: str, path: str, errors: list[FieldError]) -> None:
    if name := spec.get(key):
        errors += [invalid(f"{path}.{key}", name, message) for message in is_dns1123_subdomain(name)]


def _data_sources(spec: JsonObject, path: str, errors: list[FieldError], any_api_group: bool) -> None:
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    for key, value in (("dataSource", source), ("dataSourceRef", reference)):
        if value is not None:
            _data_source(value, f"{path}.{key}", errors, any_api_group)
    if source is None or reference is None:
        return
    if reference.get("namespace"):
        text = "may not be specified when dataSourceRef.namespace is specified"
        errors.append(invalid(path, {}, text))
    elif any(source.get(key) != reference.get(key) for key in ("apiGroup", "kind", "name")):
        errors.append(invalid(path, {}, "must match dataSourceRef"))


def _data_source(source: JsonObject, path: str, errors: list[FieldError], any_api_group: bool) -> None:
    kind, group, namespace = source.get("kind", ""), source.get("apiGroup") or "", source.get("namespace")
    errors += [required(f"{path}.{key}") for key in ("name", "kind") if not source.get(key)]
    if not group and kind != "PersistentVolumeClaim":
        errors.append(invalid(path, kind, _CORE_ONLY))
    if group and not any_api_group:
        errors += [invalid(f"{path}.apiGroup", group, message) for message in is_dns1123_subdomain(group)]
    if namespace:
        errors += [invalid(f"{path}.namespace", namespace, message) for message in is_dns1123_label(namespace)]
