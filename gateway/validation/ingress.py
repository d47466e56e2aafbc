"""Ingresses: backends, rules, TLS (page "Ingress")."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.validation.addresses import parse_ip, validate_ip_legacy
from gateway.validation.checks import each, port_or_name
from gateway.validation.field import FieldError, invalid, not_supported, required
from gateway.validation.names import (
    is_dns1123_label,
    is_dns1123_subdomain,
    is_wildcard_dns1123_subdomain,
)
from gateway.validation.references import validate_typed_reference
from gateway.validation.service import balancer_ingresses, hostname_errors

CLASS_ANNOTATION = "kubernetes.io/ingress.class"
PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")
BAD_SEQUENCES = ("//", "/./", "/../", "%2f", "%2F")
BAD_SUFFIXES = ("/..", "/.")


def validate_ingress(ingress: JsonObject, old: JsonObject | None) -> list[FieldError]:
    """The errors of the spec. An update may keep some faults that `old` has already."""
    spec, before, found = ingress.get("spec", {}), (old or {}).get("spec", {}), list[FieldError]()
    rules: list[JsonObject] = spec.get("rules") or []
    if not rules and spec.get("defaultBackend") is None:
        found.append(invalid("spec", spec.get("rules"), "either `defaultBackend` or `rules` must be specified"))
    if (backend := spec.get("defaultBackend")) is not None:
        found += _backend(backend, "spec.defaultBackend")
    tolerated = any("*" in rule.get("host", "") and _http(rule, "") for rule in before.get("rules") or ())
    for i, rule in enumerate(rules):
        found += _rule(rule, f"spec.rules[{i}]", tolerated)
    any_secret = any(
        is_dns1123_subdomain(tls["secretName"]) for tls in before.get("tls") or () if tls.get("secretName")
    )
    for i, tls in enumerate(spec.get("tls") or ()):
        found += _tls(tls, f"spec.tls[{i}]", any_secret)
    if (name := spec.get("ingressClassName")) is not None:
        found += each("spec.ingressClassName", name, is_dns1123_subdomain(name))
    return found


def _host(path: str, host: str) -> list[FieldError]:
    rule = is_wildcard_dns1123_subdomain if "*" in host else is_dns1123_subdomain
    return each(path, host, rule(host))


def _tls(tls: JsonObject, path: str, any_secret: bool) -> list[FieldError]:
    found = [error for i, host in enumerate(tls.get("hosts") or ()) for error in _host(f"{path}.hosts[{i}]", host)]
    secret = tls.get("secretName")
    if secret and not any_secret:
        found += each(f"{path}.secretName", secret, is_dns1123_subdomain(secret))
    return found


def _rule(rule: JsonObject, path: str, any_wildcard_rule: bool) -> list[FieldError]:
    found, host = list[FieldError](), rule.get("host", "")
    if host:
        if parse_ip(host) is not None:
            found.append(invalid(f"{path}.host", host, "must be a DNS name, not an IP address"))
        found += _host(f"{path}.host", host)
    return found if "*" in host and any_wildcard_rule else found + _http(rule, path)


def _http(rule: JsonObject, path: str) -> list[FieldError]:
    http = rule.get("http")
    if http is None:
        return []
    paths = http.get("paths") or []
    if not paths:
        return [required(f"{path}.http.paths")]
    return [error for i, entry in enumerate(paths) for error in _path(entry, f"{path}.http.paths[{i}]")]


def _path(entry: JsonObject, path: str) -> list[FieldError]:
    kind, value, found = entry.get("pathType"), entry.get("path", ""), list[FieldError]()
    if kind is None:
        return [required(f"{path}.pathType", "pathType must be specified")]
    if kind not in PATH_TYPES:
        found.append(not_supported(f"{path}.pathType", kind, PATH_TYPES))
    else:
        strict = kind != "ImplementationSpecific"
        if not value.startswith("/") and (value or strict):
            found.append(invalid(f"{path}.path", value, "must be an absolute path"))
        if strict:
            bad = [part for part in BAD_SEQUENCES if part in value]
            found += [invalid(f"{path}.path", value, f"must not contain '{part}'") for part in bad]
            bad = [part for part in BAD_SUFFIXES if value.endswith(part)]
            found += [invalid(f"{path}.path", value, f"cannot end with '{part}'") for part in bad]
    return found + _backend(entry.get("backend", {}), f"{path}.backend")


def _backend(backend: JsonObject, path: str) -> list[FieldError]:
    resource, service = backend.get("resource"), backend.get("service")
    if resource is not None and service is not None:
        return [invalid(path, "", "cannot set both resource and service backends")]
    if resource is not None:
        return validate_typed_reference(resource, f"{path}.resource")
    if service is None:
        return [invalid(path, "", "resource or service backend is required")]
    name = service.get("name", "")
    found = each(f"{path}.service.name", name, is_dns1123_label(name)) if name else [required(f"{path}.service.name")]
    port = service.get("port") or {}
    named, number = port.get("name", ""), port.get("number", 0)
    if named and number:
        found.append(invalid(path, "", "cannot set both port name & port number"))
    elif named:
        found += port_or_name(f"{path}.service.port.name", named)
    elif number:
        found += port_or_name(f"{path}.service.port.number", number)
    else:
        found.append(required(path, "port name or number is required"))
    return found


def validate_ingress_status(ingress: JsonObject, old: JsonObject) -> list[FieldError]:
    """The errors of the load balancer's addresses."""
    existing = tuple(entry["ip"] for entry in balancer_ingresses(old) if entry.get("ip"))
    found: list[FieldError] = []
    for i, entry in enumerate(balancer_ingresses(ingress)):
        path = f"status.loadBalancer.ingress[{i}]"
        if ip := entry.get("ip"):
            found += validate_ip_legacy(f"{path}.ip", ip, existing)
        found += hostname_errors(f"{path}.hostname", entry.get("hostname", ""))
    return found
