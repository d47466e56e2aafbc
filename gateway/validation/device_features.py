"""Fields of devices since 1.37: the resources of the node that a device stands for, and the type of a partition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gateway.jsontypes import JsonObject
from gateway.validation.devices import validate_fully_qualified_attribute
from gateway.validation.field import FieldError, Verbatim, invalid, not_found, required
from gateway.validation.internal_form import go_json
from gateway.validation.quantities import quantity_of
from gateway.validation.resource_names import is_huge_page

_KINDS = ("int", "bool", "string", "version")  # types of attribute values, in the order of Go's fields


def attribute_shown(attribute: JsonObject, lists: bool = True) -> Verbatim:
    """The JSON of an attribute as Go's internal type; without `lists`, as that of releases without list attributes."""
    values: JsonObject = {f"{key.title()}Value": attribute.get(key) for key in _KINDS}
    if not lists:
        return go_json(values)
    return go_json(values | {f"{key.title()}Values": attribute.get(f"{key}s") for key in _KINDS})


def validate_partition_type(spec: JsonObject, path: str) -> list[FieldError]:
    """Each device that consumes counters must have the attribute that is named as the type of partitions, a string."""
    name = spec.get("partitionTypeAttribute")
    if name is None:
        return []
    devices = spec.get("devices") or ()
    if not any(device.get("consumesCounters") for device in devices):
        text = "may only be set on a slice which declares devices that consume counters"
        return [invalid(f"{path}.partitionTypeAttribute", name, text)]
    if validate_fully_qualified_attribute(name, ""):
        return []  # the name is refused by itself
    bare = name.removeprefix(f"{spec.get('driver', '')}/")
    found = list[FieldError]()
    for i, device in enumerate(devices):
        if device.get("consumesCounters"):
            found += _partition_type(
                device.get("attributes") or {}, name, bare, f"{path}.devices[{i}].attributes[{name}]"
            )
    return found


def _partition_type(attributes: JsonObject, name: str, bare: str, path: str) -> list[FieldError]:
    named = "`partitionTypeAttribute` names this attribute"
    attribute = attributes.get(name, attributes.get(bare))
    if attribute is None:
        return [required(path, f"device consumes counters and {named}, so it must be set")]
    if attribute.get("string") is not None:
        return []
    return [invalid(path, attribute_shown(attribute), f"must be a string value because {named}")]


def validate_node_resources(device: JsonObject, path: str) -> list[FieldError]:
    """The resources of the node that an allocation of the device takes: a mapping, an overhead, or both."""
    found = list[FieldError]()
    for name, resource in (device.get("nodeAllocatableResources") or {}).items():
        at = f"{path}.nodeAllocatableResources[{name}]"
        if name not in ("cpu", "memory") and not is_huge_page(name):
            found.append(invalid(at, name, "must be a node allocatable resource name"))
        mapping, overhead = resource.get("mapping"), resource.get("overhead")
        if mapping is None and overhead is None:
            found.append(required(at, "at least one of mapping or overhead must be set"))
        if mapping is not None:
            found += _mapping(mapping, device.get("capacity") or {}, f"{at}.mapping")
        if overhead is not None:
            found += _overhead(overhead, f"{at}.overhead")
    return found


def _mapping(mapping: JsonObject, capacity: JsonObject, path: str) -> list[FieldError]:
    found = list[FieldError]()
    key, multiplier = mapping.get("capacityKey"), mapping.get("capacityMultiplier")
    if key == "":
        found.append(invalid(f"{path}.capacityKey", "", "capacityKey must not be an empty string"))
    elif key is not None and key not in capacity:
        found.append(not_found(f"{path}.capacityKey", key))
    if key is not None and multiplier is None:
        text = "capacityMultiplier is required when capacityKey is set"
        found.append(required(f"{path}.capacityMultiplier", text))
    elif key is not None:
        found += _bounded(multiplier, f"{path}.capacityMultiplier", _is_positive, "must be positive")
    found += _bounded(mapping.get("deviceMultiplier"), f"{path}.deviceMultiplier", _is_positive, "must be positive")
    if multiplier is not None and key is None:
        found.append(required(f"{path}.capacityKey", "capacityKey is required when capacityMultiplier is set"))
    return found


def _overhead(overhead: JsonObject, path: str) -> list[FieldError]:
    keys = ("perPod", "perContainer")
    if all(overhead.get(key) is None for key in keys):
        return [invalid(path, "", "at least one of perPod or perContainer must be set")]
    text = "must be non-negative"
    return [error for key in keys for error in _bounded(overhead.get(key), f"{path}.{key}", _is_not_negative, text)]


def _bounded(value: Any, path: str, allowed: Callable[[int], bool], text: str) -> list[FieldError]:
    return [] if value is None or allowed(quantity_of(value).unscaled) else [invalid(path, value, text)]


def _is_positive(number: int) -> bool:
    return number > 0


def _is_not_negative(number: int) -> bool:
    return number >= 0
