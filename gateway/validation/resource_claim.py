"""The status of ResourceClaims: the allocation, who reserved it, what drivers report (KEP-4817)."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.validation.checks import known, same
from gateway.validation.conditions import validate_conditions
from gateway.validation.devices import (
    MAX_CONFIG,
    MAX_REQUESTS,
    request_names,
    request_reference,
    validate_binding_conditions,
    validate_configuration,
    validate_driver_name,
    validate_list,
    validate_pool_name,
    validate_raw,
    validate_set,
    validate_skipped,
    validate_toleration,
    validate_uid,
)
from gateway.validation.endpoint_addresses import validate_interface_address
from gateway.validation.field import FieldError, Verbatim, forbidden, invalid, required, too_long, too_many
from gateway.validation.formats import validate_dns1123_label
from gateway.validation.go_structs import verbatim
from gateway.validation.internal_form import go_json
from gateway.validation.names import byte_length
from gateway.validation.objectmeta import IMMUTABLE
from gateway.validation.scheduling import validate_node_selector

MAX_CONSUMERS, MAX_RESULTS, MAX_CONDITIONS, MAX_IPS = 256, 32, 8, 16
LENGTHS = {"interfaceName": 256, "hardwareAddress": 128}
_KEYS = ("driver", "pool", "device", "shareID")


def device_id(device: JsonObject) -> str:
    """The ID of an allocated device: driver/pool/device, and /shareID if it has one."""
    return "/".join(device[key] for key in _KEYS if device.get(key))


def _shown(device: JsonObject) -> Verbatim:
    """The ID of a device as messages show it: the JSON of Go's struct."""
    return go_json({key[0].upper() + key[1:]: device.get(key) or "" for key in _KEYS})


def allocated_devices(claim: JsonObject) -> set[str]:
    allocation = (claim.get("status") or {}).get("allocation") or {}
    return {device_id(result) for result in (allocation.get("devices") or {}).get("results") or ()}


def kept_devices(claim: JsonObject, old: JsonObject) -> list[JsonObject]:
    """The device statuses in the new status, without those of devices whose allocation it removes."""
    gone = allocated_devices(old) - allocated_devices(claim)
    return [device for device in (claim.get("status") or {}).get("devices") or () if device_id(device) not in gone]


def validate_claim_status(claim: JsonObject, old: JsonObject, tolerations: bool) -> list[FieldError]:
    """The errors of a new status. `tolerations`: whether those of allocated devices are validated."""
    status, before = claim.get("status") or {}, old.get("status") or {}
    consumers: list[JsonObject] = status.get("reservedFor") or []
    path = "status.reservedFor"
    found = validate_set(consumers, MAX_CONSUMERS, path, _consumer, lambda consumer: consumer.get("uid", ""))
    allocated = allocated_devices(claim)

    def device(item: JsonObject, at: str) -> list[FieldError]:
        return _device_status(item, at, allocated)

    found += validate_set(status.get("devices") or [], -1, "status.devices", device, _shown)
    allocation, old_allocation = status.get("allocation"), before.get("allocation")
    if consumers and allocation is None:
        found.append(forbidden(path, "may not be specified when `allocated` is not set"))
    elif claim["metadata"].get("deletionTimestamp") and _any_new(consumers, before.get("reservedFor")):
        text = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"
        found.append(forbidden(path, text))
    if allocation is not None and old_allocation is None:
        found += _allocation(allocation, claim, tolerations)
    elif allocation is not None and not same(allocation, old_allocation):
        found.append(
            invalid("status.allocation", verbatim("io.k8s.api.resource.v1.AllocationResult", allocation), IMMUTABLE)
        )
    return found


def _any_new(consumers: list[JsonObject], before: list[JsonObject] | None) -> bool:
    known = {frozenset(consumer.items()) for consumer in before or ()}
    return any(frozenset(consumer.items()) not in known for consumer in consumers)


def _consumer(consumer: JsonObject, path: str) -> list[FieldError]:
    return [required(f"{path}.{key}") for key in ("resource", "name", "uid") if not consumer.get(key)]


def _allocation(allocation: JsonObject, claim: JsonObject, tolerations: bool) -> list[FieldError]:
    reference = request_reference(request_names(claim.get("spec", {}).get("devices") or {}))

    def result(item: JsonObject, at: str) -> list[FieldError]:
        found = reference(item.get("request", ""), f"{at}.request") + _device_name(item, at)
        found += validate_binding_conditions(item, at)
        if tolerations:
            found += validate_list(item.get("tolerations") or [], -1, f"{at}.tolerations", validate_toleration)
        if (share := item.get("shareID")) is not None:
            found += validate_uid(share, f"{at}.shareID")
        return found + validate_skipped(item, at)

    def config(item: JsonObject, at: str) -> list[FieldError]:
        source = item.get("source")
        found = known(f"{at}.source", source, ("FromClaim", "FromClass")) if source else [required(f"{at}.source")]
        found += validate_set(item.get("requests") or [], MAX_REQUESTS, f"{at}.requests", reference)
        return found + validate_configuration(item, at)

    devices, path = allocation.get("devices") or {}, "status.allocation.devices"
    found = validate_list(devices.get("results") or [], MAX_RESULTS, f"{path}.results", result)
    found += validate_list(devices.get("config") or [], 2 * MAX_CONFIG, f"{path}.config", config)
    if (selector := allocation.get("nodeSelector")) is not None:
        validate_node_selector(selector, "status.allocation.nodeSelector", found)
    return found


def _device_name(device: JsonObject, path: str) -> list[FieldError]:
    found = validate_driver_name(device.get("driver", ""), f"{path}.driver")
    found += validate_pool_name(device.get("pool", ""), f"{path}.pool")
    return found + validate_dns1123_label(f"{path}.device", device.get("device", ""))


def _device_status(device: JsonObject, path: str, allocated: set[str]) -> list[FieldError]:
    found = _device_name(device, path)
    if (share := device.get("shareID")) is not None:
        found += validate_uid(share, f"{path}.shareID")
    if device_id(device) not in allocated:
        found.append(invalid(path, _shown(device), "must be an allocated device in the claim"))
    conditions = device.get("conditions") or []
    if len(conditions) > MAX_CONDITIONS:
        found.append(too_many(f"{path}.conditions", len(conditions), MAX_CONDITIONS))
    found += validate_conditions(conditions, f"{path}.conditions")
    if device.get("data") is not None:
        found += validate_raw(device["data"], f"{path}.data")
    network = device.get("networkData") or {}
    for key, most in LENGTHS.items():
        if byte_length(network.get(key, "")) > most:
            found.append(too_long(f"{path}.networkData.{key}", most))

    def address(value: str, at: str) -> list[FieldError]:
        return validate_interface_address(at, value)

    return found + validate_set(network.get("ips") or [], MAX_IPS, f"{path}.networkData.ips", address)
