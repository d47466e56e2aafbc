"""Environment of containers: env, envFrom, and the references that values come from."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.validation.field import FieldError, invalid, not_supported, required
from gateway.validation.formats import (
    is_config_map_key,
    is_relaxed_env_var_name,
    validate_dns1123_label,
    validate_qualified_name,
)
from gateway.validation.local_paths import validate_no_backsteps
from gateway.validation.names import is_dns1123_subdomain, name_is_dns_subdomain
from gateway.validation.quantities import quantity_of

_FIELDS = tuple(
    sorted(
        [
            "metadata.name",
            "metadata.namespace",
            "metadata.uid",
            "spec.nodeName",
            "spec.serviceAccountName",
            "status.hostIP",
            "status.hostIPs",
            "status.podIP",
            "status.podIPs",
        ]
    )
)
# all fields of the downward API; a use may allow fewer
_KNOWN_FIELDS = frozenset(
    [
        "metadata.annotations",
        "metadata.labels",
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.serviceAccountName",
        "spec.schedulerName",
        "status.phase",
        "status.hostIP",
        "status.hostIPs",
        "status.podIP",
        "status.podIPs",
    ]
)
_RESOURCES = tuple(
    f"{kind}.{name}" for kind in ("limits", "requests") for name in ("cpu", "ephemeral-storage", "memory")
)
_HUGE_PAGES = ("limits.hugepages-", "requests.hugepages-")
_BYTES = frozenset(f"1{unit}" for unit in ("", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"))
_BYTES_TEXT = "only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported with the "
_NO_SOURCE = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"


def validate_env(variables: list[JsonObject], path: str, errors: list[FieldError]) -> bool:
    """Adds the errors of variables. Returns whether one has a fileKeyRef, whose volume must then be checked."""
    reads_files = False
    for i, variable in enumerate(variables):
        name = variable.get("name")
        if not name:
            errors.append(required(f"{path}[{i}].name"))
        elif messages := is_relaxed_env_var_name(name):
            errors += [invalid(f"{path}[{i}].name", name, message) for message in messages]
        source = variable.get("valueFrom")
        if source is not None:
            _value_from(variable, source, f"{path}[{i}].valueFrom", errors)
            reads_files = reads_files or "fileKeyRef" in source
    return reads_files


def _value_from(variable: JsonObject, source: JsonObject, path: str, errors: list[FieldError]) -> None:
    count = 0
    for key, validate in _SOURCES:
        reference = source.get(key)
        if reference is not None:
            count += 1
            validate(reference, f"{path}.{key}", errors)
    if not count:
        errors.append(invalid(path, "", _NO_SOURCE))
    elif variable.get("value"):
        errors.append(invalid(path, "", "may not be specified when `value` is not empty"))
    elif count > 1:
        errors.append(invalid(path, "", "may not have more than one field specified at a time"))


def _env_field(reference: JsonObject, path: str, errors: list[FieldError]) -> None:
    validate_field_reference(reference, path, errors, _FIELDS)


def _env_resource(reference: JsonObject, path: str, errors: list[FieldError]) -> None:
    validate_resource_reference(reference, path, errors)


def validate_field_reference(
    reference: JsonObject, path: str, errors: list[FieldError], supported: tuple[str, ...]
) -> None:
    """Checks an ObjectFieldSelector of the downward API. `supported` has the paths without a subscript, sorted."""
    version, field = reference.get("apiVersion"), reference.get("fieldPath")
    if not version:
        errors.append(required(f"{path}.apiVersion"))
        return
    if not field:
        errors.append(required(f"{path}.fieldPath"))
        return
    if version != "v1":
        _unconvertible(field, f"unsupported pod version: {version}", path, errors)
        return
    base, subscript = _split(field)
    if subscript is not None:
        if base == "metadata.annotations":
            errors += validate_qualified_name(path, subscript.lower())
        elif base == "metadata.labels":
            errors += validate_qualified_name(path, subscript)
        else:
            _unconvertible(field, f"field label does not support subscript: {field}", path, errors)
    elif field != "spec.host" and field not in _KNOWN_FIELDS:
        _unconvertible(field, f"field label not supported: {field}", path, errors)
    else:
        converted = "spec.nodeName" if field == "spec.host" else field
        if converted not in supported:
            errors.append(not_supported(f"{path}.fieldPath", converted, supported))


def _unconvertible(field: str, cause: str, path: str, errors: list[FieldError]) -> None:
    errors.append(invalid(f"{path}.fieldPath", field, f"error converting fieldPath: {cause}"))


def _split(field: str) -> tuple[str, str | None]:
    """Splits off the subscript: metadata.labels['key'] is ("metadata.labels", "key"). None if there is none."""
    base, bracket, rest = field.removesuffix("']").partition("['")
    return (base, rest) if field.endswith("']") and bracket and base else (field, None)


def validate_resource_reference(
    reference: JsonObject, path: str, errors: list[FieldError], *, container_required: bool = False
) -> None:
    """Checks a ResourceFieldSelector. With `container_required` (in volumes), it must name a container."""
    resource = reference.get("resource", "")
    if container_required and not reference.get("containerName"):
        errors.append(required(f"{path}.containerName"))
    elif not resource:
        errors.append(required(f"{path}.resource"))
    elif resource not in _RESOURCES and not resource.startswith(_HUGE_PAGES):
        errors.append(not_supported(f"{path}.resource", resource, _RESOURCES))
    divisor = reference.get("divisor")
    if divisor and divisor != "0" and quantity_of(divisor):
        _divisor(resource, str(divisor), path, errors)


def _divisor(resource: str, divisor: str, path: str, errors: list[FieldError]) -> None:
    if resource in ("limits.cpu", "requests.cpu"):
        if divisor not in ("1m", "1"):
            text = "only divisor's values 1m and 1 are supported with the cpu resource"
            errors.append(invalid(f"{path}.divisor", resource, text))
        return
    kinds = {"memory": "memory", "ephemeral-storage": "local ephemeral storage"}
    kind = kinds.get(resource.partition(".")[2]) if resource in _RESOURCES else None
    if resource.startswith(_HUGE_PAGES):
        kind = "hugepages"
    if kind and divisor not in _BYTES:
        errors.append(invalid(f"{path}.divisor", resource, f"{_BYTES_TEXT}{kind} resource"))


def _key_reference(reference: JsonObject, path: str, errors: list[FieldError]) -> None:
    name, key = reference.get("name", ""), reference.get("key")
    if messages := is_dns1123_subdomain(name):
        errors += [invalid(f"{path}.name", name, message) for message in messages]
    if not key:
        errors.append(required(f"{path}.key"))
    elif messages := is_config_map_key(key):
        errors += [invalid(f"{path}.key", key, message) for message in messages]


def _file_reference(reference: JsonObject, path: str, errors: list[FieldError]) -> None:
    key, volume, file = reference.get("key"), reference.get("volumeName"), reference.get("path")
    if not key:
        errors.append(required(f"{path}.key"))
    else:
        errors += [invalid(f"{path}.key", key, message) for message in is_relaxed_env_var_name(key)]
    if not volume:
        errors.append(required(f"{path}.volumeName"))
    else:
        errors += validate_dns1123_label(f"{path}.volumeName", volume)
    if not file:
        errors.append(required(f"{path}.path"))
    else:
        errors += validate_no_backsteps(file, f"{path}.path")


_SOURCES = (
    ("fieldRef", _env_field),
    ("resourceFieldRef", _env_resource),
    ("configMapKeyRef", _key_reference),
    ("secretKeyRef", _key_reference),
    ("fileKeyRef", _file_reference),
)


def validate_env_from(sources: list[JsonObject], path: str, errors: list[FieldError]) -> None:
    for i, source in enumerate(sources):
        at = f"{path}[{i}]"
        if prefix := source.get("prefix"):
            errors += [invalid(f"{at}.prefix", prefix, message) for message in is_relaxed_env_var_name(prefix)]
        count = 0
        for key in ("configMapRef", "secretRef"):
            reference = source.get(key)
            if reference is not None:
                count += 1
                _env_source(reference, f"{at}.{key}.name", errors)
        if not count:
            errors.append(invalid(path, "", "must specify one of: `configMapRef` or `secretRef`"))
        elif count > 1:
            errors.append(invalid(path, "", "may not have more than one field specified at a time"))


def _env_source(reference: JsonObject, path: str, errors: list[FieldError]) -> None:
    name = reference.get("name")
    if not name:
        errors.append(required(path))
    else:
        errors += [invalid(path, name, message) for message in name_is_dns_subdomain(name, True)]
