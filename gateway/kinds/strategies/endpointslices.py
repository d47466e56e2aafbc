"""EndpointSlices: endpoints by address type, ports, hints (page "EndpointSlices")."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gateway.jsontypes import JsonObject
from gateway.kinds.strategies.status import bump_generation
from gateway.kinds.strategy import Strategy
from gateway.kinds.write_context import WriteContext
from gateway.validation.addresses import ip_warnings, validate_ip, validate_ip_legacy
from gateway.validation.checks import each, immutable, known, one_of, same
from gateway.validation.endpoint_addresses import is_ipv4, is_ipv6, validate_endpoint_ip
from gateway.validation.field import FieldError, duplicate, first_places, invalid, required, too_many
from gateway.validation.formats import (
    validate_dns1123_label,
    validate_dns1123_subdomain,
    validate_fully_qualified_domain_name,
    validate_qualified_name,
)
from gateway.validation.labels import validate_labels
from gateway.validation.names import is_dns1123_subdomain, is_label_value
from gateway.validation.objectmeta import validate_object_meta
from gateway.validation.service import PROTOCOLS

ADDRESS_TYPES = ("FQDN", "IPv4", "IPv6")
MAX_ENDPOINTS, MAX_ADDRESSES, MAX_PORTS, MAX_TOPOLOGY, MAX_HINTS = 1000, 100, 20000, 16, 8
HOSTNAME, MANAGED_BY = "kubernetes.io/hostname", "endpointslice.kubernetes.io/managed-by"
CONTROLLERS = ("endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io")


def _address(path: str, list_path: str, address: str, kind: str) -> list[FieldError]:
    match kind:
        case "IPv4":
            if found := validate_ip_legacy(path, address):
                return found
            found = [] if is_ipv4(address) else [invalid(list_path, address, "must be an IPv4 address")]
            return found + validate_endpoint_ip(path, address)
        case "IPv6":
            if found := validate_ip(path, address):
                return found
            found = [] if is_ipv6(address) else [invalid(list_path, address, "must be an IPv6 address")]
            return found + validate_endpoint_ip(path, address)
        case "FQDN":
            return validate_fully_qualified_domain_name(path, address)
    return []


def _endpoint(endpoint: JsonObject, path: str, kind: str) -> list[FieldError]:
    found: list[FieldError] = []
    addresses, at = endpoint.get("addresses") or [], f"{path}.addresses"
    if not addresses:
        found.append(required(at, "must contain at least 1 address"))
    elif len(addresses) > MAX_ADDRESSES:
        found.append(too_many(at, len(addresses), MAX_ADDRESSES))
    for i, address in enumerate(addresses):
        found += _address(f"{at}[{i}]", at, address, kind)
    if (node := endpoint.get("nodeName")) is not None:
        found += validate_dns1123_subdomain(f"{path}.nodeName", node)
    if topology := endpoint.get("deprecatedTopology"):
        if len(topology) > MAX_TOPOLOGY:
            found.append(too_many(f"{path}.deprecatedTopology", len(topology), MAX_TOPOLOGY))
        found += validate_labels(topology, f"{path}.deprecatedTopology")
    if (hostname := endpoint.get("hostname")) is not None:
        found += validate_dns1123_label(f"{path}.hostname", hostname)
    return found + _hints(endpoint.get("hints") or {}, f"{path}.hints")


def _hints(hints: JsonObject, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    for key, rule in (("forZones", is_label_value), ("forNodes", is_dns1123_subdomain)):
        names = [hint.get("name", "") for hint in hints.get(key) or ()]
        if len(names) > MAX_HINTS:
            return [*found, too_many(f"{path}.{key}", len(names), MAX_HINTS)]
        first = first_places(names)
        for i, name in enumerate(names):
            at = f"{path}.{key}[{i}].name"
            if first[name] < i:
                found.append(duplicate(at, name))
            found += each(at, name, rule(name))
    return found


def _ports(ports: list[JsonObject]) -> list[FieldError]:
    if len(ports) > MAX_PORTS:
        return [too_many("ports", len(ports), MAX_PORTS)]
    found, seen = list[FieldError](), set[str]()
    for i, port in enumerate(ports):
        name, path = port.get("name", ""), f"ports[{i}]"
        if name:
            found += validate_dns1123_label(f"{path}.name", name)
        if name in seen:
            found.append(duplicate(f"{path}.name", name))
        seen.add(name)
        protocol = port.get("protocol")
        found += [required(f"{path}.protocol")] if protocol is None else known(f"{path}.protocol", protocol, PROTOCOLS)
        if (application := port.get("appProtocol")) is not None:
            found += validate_qualified_name(f"{path}.appProtocol", application)
    return found


def _validate_endpoints(obj: JsonObject) -> list[FieldError]:
    endpoints = obj.get("endpoints") or []
    if len(endpoints) > MAX_ENDPOINTS:
        return [too_many("endpoints", len(endpoints), MAX_ENDPOINTS)]
    kind = obj.get("addressType", "")
    return [error for i, endpoint in enumerate(endpoints) for error in _endpoint(endpoint, f"endpoints[{i}]", kind)]


def _validate(obj: JsonObject, context: WriteContext) -> list[FieldError]:
    found = one_of("addressType", obj.get("addressType"), ADDRESS_TYPES) + _ports(obj.get("ports") or [])
    return found + _validate_endpoints(obj)


def _validate_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    found = validate_object_meta(obj["metadata"], True)
    found += one_of("addressType", obj.get("addressType"), ADDRESS_TYPES) + _ports(obj.get("ports") or [])
    if not same(obj.get("endpoints"), old.get("endpoints")):  # they may be older than these rules
        found += _validate_endpoints(obj)
    return found + immutable("addressType", obj.get("addressType", ""), old.get("addressType", ""))


def _drop_topology(obj: JsonObject, old: JsonObject | None) -> None:
    """Drops deprecatedTopology, unless no endpoint changes. The node name in an old one moves to nodeName."""
    if old is not None and same(obj.get("endpoints"), old.get("endpoints")):
        return
    before = {(e.get("deprecatedTopology") or {}).get(HOSTNAME) for e in (old or {}).get("endpoints") or ()}
    for endpoint in obj.get("endpoints") or ():
        node = (endpoint.pop("deprecatedTopology", None) or {}).get(HOSTNAME)
        if node and "nodeName" not in endpoint and node in before and not is_dns1123_subdomain(node):
            endpoint["nodeName"] = node


def _prepare_for_create(obj: JsonObject, context: WriteContext) -> None:
    obj["metadata"]["generation"] = 1
    _drop_topology(obj, None)


def _prepare_for_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> None:
    keys = ("addressType", "endpoints", "ports")
    if any(not same(obj.get(key), old.get(key)) for key in keys) or not same(
        obj["metadata"].get("labels"), old["metadata"].get("labels")
    ):
        bump_generation(obj, old)
    _drop_topology(obj, old)


def _ip_warnings(obj: JsonObject) -> Iterator[str]:
    if (obj["metadata"].get("labels") or {}).get(MANAGED_BY) in CONTROLLERS:
        return
    for i, endpoint in enumerate(obj.get("endpoints") or ()):
        for j, address in enumerate(endpoint.get("addresses") or ()):
            yield from ip_warnings(f"endpoints[{i}].addresses[{j}]", address)


def _warnings(obj: JsonObject, context: WriteContext) -> Iterator[str]:
    if obj.get("addressType") == "FQDN":
        yield "spec.addressType: FQDN endpoints are deprecated"
    yield from _ip_warnings(obj)


def _update_warnings(obj: JsonObject, old: JsonObject, context: WriteContext) -> Iterable[str]:
    return _ip_warnings(obj)


STRATEGIES = {
    "": Strategy(
        prepare_for_create=_prepare_for_create,
        prepare_for_update=_prepare_for_update,
        validate=_validate,
        validate_update=_validate_update,
        rechecks_metadata=False,
        warnings_on_create=_warnings,
        warnings_on_update=_update_warnings,
    )
}
