"""Services: fields that a change of the type clears, status, warnings."""

from __future__ import annotations

from collections.abc import Iterator

from gateway.jsontypes import JsonObject
from gateway.kinds.strategies.status import empty_status, keep_spec, keep_status
from gateway.kinds.strategy import Allocation, Strategy, on_update
from gateway.kinds.write_context import WriteContext
from gateway.release.gates import Enabled
from gateway.validation.addresses import cidr_warnings, ip_warnings
from gateway.validation.checks import same
from gateway.validation.field import FieldError, forbidden, go_quote
from gateway.validation.names import name_is_dns1035_label, name_is_dns_label
from gateway.validation.service import (
    TOPOLOGY_HINTS,
    TOPOLOGY_MODE,
    externally_accessible,
    load_balancer_class,
    needs_health_check,
    validate_load_balancer_status,
    validate_service,
)
from gateway.validation.service_addresses import cluster_ips_update, ip_families_update


def same_cluster_ips(spec: JsonObject, before: JsonObject) -> bool:
    return same(spec.get("clusterIP"), before.get("clusterIP")) and same(
        spec.get("clusterIPs"), before.get("clusterIPs")
    )


def node_ports(spec: JsonObject) -> set[int]:
    return {port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")}


_empty_status = empty_status({"loadBalancer": {}})


def _prepare_for_create(obj: JsonObject, context: WriteContext) -> None:
    _empty_status(obj, context)
    _drop_traffic_policy(obj.get("spec", {}))


def _prepare_for_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> None:
    keep_status(obj, old, context)
    spec, before = obj["spec"], old["spec"]
    if before.get("type") != "ExternalName" and spec.get("type") == "ExternalName":
        if same_cluster_ips(spec, before):
            spec.pop("clusterIP", None)
            spec.pop("clusterIPs", None)
        for key in ("ipFamilies", "ipFamilyPolicy"):
            if same(spec.get(key), before.get(key)):
                spec.pop(key, None)
    with_ports = ("LoadBalancer", "NodePort")
    if (
        before.get("type") in with_ports
        and spec.get("type") not in with_ports
        and node_ports(spec) <= node_ports(before)
    ):
        for port in spec.get("ports") or ():
            port.pop("nodePort", None)
    if needs_health_check(before) and not needs_health_check(spec):
        _drop_unchanged(spec, before, "healthCheckNodePort")
    if before.get("type") == "LoadBalancer" and spec.get("type") != "LoadBalancer":
        _drop_unchanged(spec, before, "allocateLoadBalancerNodePorts")
        _drop_unchanged(spec, before, "loadBalancerClass")
    if externally_accessible(before) and not externally_accessible(spec):
        _drop_unchanged(spec, before, "externalTrafficPolicy")
    _drop_traffic_policy(spec)
    if spec.get("type") != "LoadBalancer":
        obj["status"] = {**obj.get("status", {}), "loadBalancer": {}}


def _drop_traffic_policy(spec: JsonObject) -> None:
    """Drops internalTrafficPolicy of an ExternalName service. An invalid value stays, for validation to refuse."""
    if spec.get("type") == "ExternalName" and spec.get("internalTrafficPolicy") in ("Cluster", "Local"):
        del spec["internalTrafficPolicy"]


def _drop_unchanged(spec: JsonObject, before: JsonObject, key: str) -> None:
    if spec.get(key) == before.get(key):
        spec.pop(key, None)


def on_read(service: JsonObject, primary_family: str) -> None:
    """Sets the dual-stack fields of a service that was stored without them (page "IPv4/IPv6 dual-stack")."""
    spec = service.get("spec") or {}
    if (address := spec.get("clusterIP")) and not spec.get("clusterIPs"):
        spec["clusterIPs"] = [address]
    if spec.get("type") == "ExternalName":
        spec.pop("internalTrafficPolicy", None)
    elif not spec.get("ipFamilies"):
        spec["ipFamilies"] = _families(spec, primary_family)
        if spec["ipFamilies"]:
            spec["ipFamilyPolicy"] = "SingleStack" if len(spec["ipFamilies"]) == 1 else "RequireDualStack"
        else:
            del spec["ipFamilies"]


def _families(spec: JsonObject, primary: str) -> list[str]:
    if spec.get("clusterIP") != "None":
        return ["IPv6" if ":" in address else "IPv4" for address in spec.get("clusterIPs") or ()]
    return [primary] if spec.get("selector") else [primary, "IPv4" if primary == "IPv6" else "IPv6"]


def _validate(obj: JsonObject, context: WriteContext) -> list[FieldError]:
    return validate_service(obj, None)


def _validate_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    spec, before = obj.get("spec", {}), old.get("spec", {})
    found = cluster_ips_update(spec, before) + ip_families_update(spec, before) + load_balancer_class(spec, before)
    if needs_health_check(spec) and needs_health_check(before):
        found += _fixed_port(spec, before)
    return found + validate_service(obj, old)


def _fixed_port(spec: JsonObject, before: JsonObject) -> list[FieldError]:
    unchanged = spec.get("healthCheckNodePort", 0) == before.get("healthCheckNodePort", 0)
    return [] if unchanged else [forbidden("spec.healthCheckNodePort", "field is immutable")]


def _validate_status(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    return validate_load_balancer_status(obj, old)


def _warnings(obj: JsonObject, context: WriteContext) -> Iterator[str]:
    spec = obj.get("spec", {})
    if TOPOLOGY_HINTS in (obj["metadata"].get("annotations") or {}):
        yield f"annotation {TOPOLOGY_HINTS} is deprecated, please use {TOPOLOGY_MODE} instead"
    if spec.get("clusterIP", "None") != "None":
        for i, address in enumerate(spec.get("clusterIPs") or ()):
            yield from ip_warnings(f"spec.clusterIPs[{i}]", address)
    headless = spec.get("type") == "ClusterIP" and spec.get("clusterIP") == "None"
    external_ips = spec.get("externalIPs") or []
    if headless:
        ignored = {"loadBalancerIP": spec.get("loadBalancerIP"), "externalIPs": external_ips}
        ignored["SessionAffinity"] = spec.get("sessionAffinity") != "None"
        yield from (f"spec.{name} is ignored for headless services" for name, given in ignored.items() if given)
    for i, address in enumerate(external_ips):
        yield from ip_warnings(f"spec.externalIPs[{i}]", address)
    if external_ips and not headless and spec.get("type") != "ExternalName":
        yield "spec.externalIPs is deprecated and may no longer be implemented in some clusters"
    if address := spec.get("loadBalancerIP"):
        yield from ip_warnings("spec.loadBalancerIP", address)
    for i, block in enumerate(spec.get("loadBalancerSourceRanges") or ()):
        yield from cidr_warnings(f"spec.loadBalancerSourceRanges[{i}]", block)
    if spec.get("type") == "ExternalName" and external_ips:
        yield 'spec.externalIPs is ignored when spec.type is "ExternalName"'
    if spec.get("type") != "ExternalName" and spec.get("externalName"):
        yield 'spec.externalName is ignored when spec.type is not "ExternalName"'
    if spec.get("trafficDistribution") == "PreferClose":
        yield f'spec.trafficDistribution: {go_quote("PreferClose")} is deprecated; use "PreferSameZone"'


def balancer_warnings(obj: JsonObject, old: JsonObject, context: WriteContext) -> Iterator[str]:
    """Yields warnings for the load balancer addresses in the status of a Service or an Ingress."""
    ingresses = ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
    for i, ingress in enumerate(ingresses):
        if ingress.get("ip"):
            yield from ip_warnings(f"status.loadBalancer.ingress[{i}]", ingress["ip"])


def strategies(enabled: Enabled) -> dict[str, Strategy]:
    """The strategies, which depend on the gate RelaxedServiceNameValidation (KEP-5311)."""
    name = name_is_dns_label if enabled("RelaxedServiceNameValidation") else name_is_dns1035_label
    return {
        "": Strategy(
            prepare_for_create=_prepare_for_create,
            prepare_for_update=_prepare_for_update,
            validate=_validate,
            validate_update=_validate_update,
            warnings_on_create=_warnings,
            warnings_on_update=on_update(_warnings),
            validate_name=name,
            allow_create_on_update=True,
            reset_fields=(("status",),),
            returns_deleted=True,
            allocation=Allocation.SERVICE_ADDRESSES,
        ),
        "status": Strategy(
            # an update of the status may create the Service: by the rules of creates, but without cluster IPs
            prepare_for_create=_prepare_for_create,
            validate=_validate,
            warnings_on_create=_warnings,
            validate_name=name,
            allow_create_on_update=True,
            prepare_for_update=keep_spec,
            validate_update=_validate_status,
            warnings_on_update=balancer_warnings,
            reset_fields=(("spec",),),
        ),
    }
