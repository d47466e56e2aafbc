"""Endpoints: addresses and ports of each subset."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gateway.jsontypes import JsonObject
from gateway.kinds.strategy import Strategy, on_update
from gateway.kinds.write_context import WriteContext
from gateway.validation.addresses import ip_warnings, validate_ip_legacy
from gateway.validation.checks import each, one_of, same
from gateway.validation.endpoint_addresses import validate_endpoint_ip
from gateway.validation.field import FieldError, required
from gateway.validation.formats import (
    is_port_number,
    validate_dns1123_label,
    validate_dns1123_subdomain,
    validate_qualified_name,
)
from gateway.validation.objectmeta import validate_object_meta
from gateway.validation.service import PROTOCOLS

MANAGED_BY = ("endpoints.kubernetes.io/managed-by", "endpoint-controller")


def _addresses(obj: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    for i, subset in enumerate(obj.get("subsets") or ()):
        for key in ("addresses", "notReadyAddresses"):
            for j, address in enumerate(subset.get(key) or ()):
                yield f"subsets[{i}].{key}[{j}]", address


def _subset(subset: JsonObject, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    if not subset.get("addresses") and not subset.get("notReadyAddresses"):
        found.append(required(path, "must specify `addresses` or `notReadyAddresses`"))
    for key in ("addresses", "notReadyAddresses"):
        for i, address in enumerate(subset.get(key) or ()):
            found += _address(address, f"{path}.{key}[{i}]")
    ports = subset.get("ports") or []
    for i, port in enumerate(ports):
        found += _port(port, f"{path}.ports[{i}]", len(ports) > 1)
    return found


def _address(address: JsonObject, path: str) -> list[FieldError]:
    ip = address.get("ip", "")
    found = validate_ip_legacy(f"{path}.ip", ip)
    if hostname := address.get("hostname"):
        found += validate_dns1123_label(f"{path}.hostname", hostname)
    if (node := address.get("nodeName")) is not None:
        found += validate_dns1123_subdomain(f"{path}.nodeName", node)
    return found + validate_endpoint_ip(f"{path}.ip", ip)


def _port(port: JsonObject, path: str, name_required: bool) -> list[FieldError]:
    found: list[FieldError] = []
    if name := port.get("name"):
        found += validate_dns1123_label(f"{path}.name", name)
    elif name_required:
        found.append(required(f"{path}.name"))
    found += each(f"{path}.port", port.get("port", 0), is_port_number(port.get("port", 0)))
    found += one_of(f"{path}.protocol", port.get("protocol"), PROTOCOLS)
    if (protocol := port.get("appProtocol")) is not None:
        found += validate_qualified_name(f"{path}.appProtocol", protocol)
    return found


def _validate(obj: JsonObject, context: WriteContext) -> list[FieldError]:
    subsets = obj.get("subsets") or ()
    return [error for i, subset in enumerate(subsets) for error in _subset(subset, f"subsets[{i}]")]


def _validate_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    found = validate_object_meta(obj["metadata"], True)
    # unchanged subsets are not validated, since they may be older than these rules
    return found if same(obj.get("subsets"), old.get("subsets")) else found + _validate(obj, context)


def _warnings(obj: JsonObject, context: WriteContext) -> Iterable[str]:
    label, controller = MANAGED_BY
    if (obj["metadata"].get("labels") or {}).get(label) == controller:
        return []
    return (text for path, address in _addresses(obj) for text in ip_warnings(f"{path}.ip", address.get("ip", "")))


STRATEGIES = {
    "": Strategy(
        validate=_validate,
        validate_update=_validate_update,
        warnings_on_create=_warnings,
        warnings_on_update=on_update(_warnings),
        allow_create_on_update=True,
    )
}
