"""ResourceSlices: pools, devices, attributes, capacities, counters (KEP-4381, KEP-4815, KEP-5075)."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

from gateway.jsontypes import JsonObject
from gateway.validation.checks import each, immutable, same
from gateway.validation.device_features import attribute_shown, validate_node_resources, validate_partition_type
from gateway.validation.devices import (
    name_of,
    validate_attribute_name,
    validate_binding_conditions,
    validate_driver_name,
    validate_list,
    validate_pool_name,
    validate_set,
    validate_skipped,
    validate_taint,
)
from gateway.validation.field import FieldError, forbidden, invalid, required, reworded, too_long, too_many
from gateway.validation.formats import validate_dns1123_label
from gateway.validation.names import byte_length, is_dns1123_subdomain
from gateway.validation.request_policy import RequestPolicyRules, validate_request_policy
from gateway.validation.scheduling import validate_node_selector

MAX_DEVICES, MAX_ADVANCED_DEVICES, MAX_COUNTER_SETS, MAX_COUNTERS, MAX_CONSUMED_SETS = 128, 64, 8, 32, 2
MAX_ATTRIBUTES, MAX_VALUE, MAX_TAINTS, MAX_KEY = 32, 64, 16, 63 + 1 + 32
_NUMBER, _PRERELEASE, _BUILD = r"(0|[1-9]\d*)", r"(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)", "[0-9a-zA-Z-]+"
_is_semver = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(-{_PRERELEASE}(\.{_PRERELEASE})*)?(\+{_BUILD}(\.{_BUILD})*)?", re.ASCII
).fullmatch
_PLACES = ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")
_ONE_PLACE = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
_ONE_DEVICE_PLACE = (
    "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true "
    "in the ResourceSlice spec"
)
_NO_DEVICE_PLACE = (
    "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the "
    "ResourceSlice spec"
)


def validate_slice(resource_slice: JsonObject, old: JsonObject | None, ranges: RequestPolicyRules) -> list[FieldError]:
    """The errors of a ResourceSlice. `ranges` says how the ranges of request policies are judged."""
    spec, before = resource_slice.get("spec", {}), (old or {}).get("spec", {})
    pool, found = spec.get("pool", {}), validate_driver_name(spec.get("driver", ""), "spec.driver")
    found += _pool(pool, "spec.pool")
    if old is not None:
        found += immutable("spec.pool.name", name_of(pool), name_of(before.get("pool", {})))
        found += immutable("spec.driver", spec.get("driver", ""), before.get("driver", ""))
        found += immutable("spec.nodeName", spec.get("nodeName"), before.get("nodeName"))
    found += _places(spec)
    devices: list[JsonObject] = spec.get("devices") or []
    if spec.get("sharedCounters") is not None and spec.get("devices") is not None:
        found.append(invalid("spec", "", "only one of `sharedCounters` or `devices` is allowed"))
    advanced = any(device.get("taints") or device.get("consumesCounters") for device in devices)
    known = {name_of(device): device for device in before.get("devices") or ()}
    per_device = bool(spec.get("perDeviceNodeSelection"))

    def device(item: JsonObject, path: str) -> list[FieldError]:
        return _device(item, path, known.get(name_of(item)), per_device, ranges)

    most = MAX_ADVANCED_DEVICES if advanced else MAX_DEVICES
    found += validate_set(devices, most, "spec.devices", device, name_of)
    counters = spec.get("sharedCounters") or []
    found += validate_set(counters, MAX_COUNTER_SETS, "spec.sharedCounters", _counter_set, name_of)
    found += validate_partition_type(spec, "spec")
    return found + validate_skipped(spec, "spec")


def _pool(pool: JsonObject, path: str) -> list[FieldError]:
    count, generation = pool.get("resourceSliceCount", 0), pool.get("generation", 0)
    found = validate_pool_name(name_of(pool), f"{path}.name")
    if count <= 0:
        found.append(invalid(f"{path}.resourceSliceCount", count, "must be greater than zero"))
    if generation < 0:
        found.append(invalid(f"{path}.generation", generation, "must be greater than or equal to zero"))
    return found


def _places(spec: JsonObject) -> list[FieldError]:
    found, given = list[FieldError](), list[str]()
    for key in _PLACES:
        value, path = spec.get(key), f"spec.{key}"
        if value is None:
            continue
        if key == "nodeName":
            message = "must be either unset or set to a non-empty string"
            found += each(path, value, is_dns1123_subdomain(value)) if value else [invalid(path, value, message)]
        elif key == "nodeSelector":
            validate_node_selector(value, path, found)
            terms = value.get("nodeSelectorTerms")
            if len(terms or ()) != 1:
                message = "must have exactly one node selector term"
                found.append(invalid(f"{path}.nodeSelectorTerms", terms, message))
        elif not value:
            found.append(invalid(path, value, "must be either unset or set to true"))
        if value or key == "nodeSelector":
            given.append(f"`{key}`")
    if not given:
        found.append(required("spec", _ONE_PLACE))
    elif len(given) > 1:
        found.append(invalid("spec", f"{{{', '.join(given)}}}", f"{_ONE_PLACE}, but multiple fields are set"))
    return found


def _device_places(device: JsonObject, path: str, per_device: bool) -> list[FieldError]:
    found, given = list[FieldError](), list[str]()
    if not per_device:
        misplaced = any(device.get(key) is not None for key in _PLACES[:3])
        return [invalid(path, None, _NO_DEVICE_PLACE)] if misplaced else []
    name, selector, everywhere = (device.get(key) for key in _PLACES[:3])
    if name:
        given.append("`nodeName`")
        found += each(f"{path}.nodeName", name, is_dns1123_subdomain(name))
    elif name is not None:
        found.append(invalid(f"{path}.nodeName", name, "must not be empty"))
    if selector is not None:
        given.append("`nodeSelector`")
        validate_node_selector(selector, f"{path}.nodeSelector", found)
    if everywhere:
        given.append("`allNodes`")
    elif everywhere is not None:
        found.append(invalid(f"{path}.allNodes", everywhere, "must be either unset or set to true"))
    if not given:
        found.append(required(path, _ONE_DEVICE_PLACE))
    elif len(given) > 1:
        found.append(invalid(path, f"{{{', '.join(given)}}}", _ONE_DEVICE_PLACE))
    return found


def _device(
    device: JsonObject, path: str, old: JsonObject | None, per_device: bool, ranges: RequestPolicyRules
) -> list[FieldError]:
    found = validate_dns1123_label(f"{path}.name", name_of(device))
    attributes, capacity = device.get("attributes") or {}, device.get("capacity") or {}
    total = len(attributes) + len(capacity)
    if total > MAX_ATTRIBUTES:
        message = f"the total number of attributes and capacities must not exceed {MAX_ATTRIBUTES}"
        found.append(invalid(path, total, message))
    found += _map(attributes, -1, MAX_KEY, f"{path}.attributes", validate_attribute_name, _attribute)
    if not ranges.ratcheted or old is None or not same(old.get("capacity"), device.get("capacity")):
        rule = partial(_shared_capacity, ranges) if device.get("allowMultipleAllocations") else _whole_capacity
        found += _map(capacity, -1, MAX_KEY, f"{path}.capacity", validate_attribute_name, rule)
    if old is None or not same(old.get("taints"), device.get("taints")):
        found += validate_list(device.get("taints") or [], MAX_TAINTS, f"{path}.taints", validate_taint)
    consumed, at = device.get("consumesCounters") or [], f"{path}.consumesCounters"
    found += validate_set(consumed, MAX_CONSUMED_SETS, at, _consumption, lambda item: item.get("counterSet", ""))
    found += _device_places(device, path, per_device) + validate_binding_conditions(device, path)
    return found + validate_node_resources(device, path)


def _map(
    members: dict[str, Any],
    most: int,
    longest: int,
    path: str,
    key_rule: Callable[[str, str], list[FieldError]],
    rule: Callable[[Any, str], list[FieldError]],
) -> list[FieldError]:
    if 0 <= most < len(members):
        return [too_many(path, len(members), most)]
    found: list[FieldError] = []
    for key, member in members.items():
        found += key_rule(key, path) + rule(member, f"{path}[{_shortened(key, longest)}]")
    return found


def _shortened(key: str, longest: int) -> str:
    if len(key) <= longest:
        return key
    rest = longest - 3
    return f"{key[: (rest + 1) // 2]}...{key[len(key) - rest // 2 :]}"


def _attribute(attribute: JsonObject, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    given = [key for key in ("bool", "int", "string", "version") if attribute.get(key) is not None]
    for key in given[:]:
        value = attribute[key]
        if key == "version" and not _is_semver(value):
            found.append(invalid(f"{path}.version", value, "must be a string compatible with semver.org spec 2.0.0"))
        if key in ("string", "version") and byte_length(value) > MAX_VALUE:
            found.append(too_long(f"{path}.{key}", MAX_VALUE))
    if len(given) != 1:
        text = "exactly one value must be specified"
        later = partial(invalid, path, attribute_shown(attribute) if given else "", text)
        earlier = invalid(path, attribute_shown(attribute, lists=False), text) if given else later()
        found.append(reworded("ListAttributesShown", earlier, later))
    return found


def _shared_capacity(ranges: RequestPolicyRules, capacity: JsonObject, path: str) -> list[FieldError]:
    policy = capacity.get("requestPolicy")
    if policy is None:
        return []
    return validate_request_policy(policy, capacity.get("value"), f"{path}.requestPolicy", ranges)


def _whole_capacity(capacity: JsonObject, path: str) -> list[FieldError]:
    if capacity.get("requestPolicy") is None:
        return []
    return [forbidden(f"{path}.requestPolicy", "allowMultipleAllocations must be true")]


def _counters(item: JsonObject, path: str, name_key: str) -> list[FieldError]:
    name, counters = item.get(name_key, ""), item.get("counters") or {}
    at = f"{path}.{name_key}"
    found = validate_dns1123_label(at, name) if name else [required(at)]
    if not counters:
        return [*found, required(f"{path}.counters")]
    return found + _map(counters, MAX_COUNTERS, 63, f"{path}.counters", _counter_name, _any_counter)


def _counter_name(name: str, path: str) -> list[FieldError]:
    return validate_dns1123_label(path, name)


def _any_counter(counter: JsonObject, path: str) -> list[FieldError]:
    return []


def _counter_set(item: JsonObject, path: str) -> list[FieldError]:
    return _counters(item, path, "name")


def _consumption(item: JsonObject, path: str) -> list[FieldError]:
    return _counters(item, path, "counterSet")
