"""A pod's host names, DNS settings and host ports."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.validation.addresses import validate_ip_legacy
from gateway.validation.field import FieldError, invalid, required
from gateway.validation.formats import validate_dns1123_subdomain, validate_dns1123_subdomain_with_underscore
from gateway.validation.names import byte_length
from gateway.validation.pod_options import PodOptions

_MAX_NAMESERVERS, _MAX_SEARCHES, _MAX_SEARCH_CHARACTERS = 3, 32, 2048


def validate_host_ports(spec: JsonObject, path: str, errors: list[FieldError], options: PodOptions) -> None:
    """With hostNetwork, hostPort must equal containerPort."""
    for i, container in enumerate(spec.get("containers") or ()):
        for j, port in enumerate(container.get("ports") or ()):
            host = port.get("hostPort", 0)
            if (options.is_pod or host) and host != port.get("containerPort", 0):
                text = "must match `containerPort` when `hostNetwork` is true"
                errors.append(invalid(f"{path}.containers[{i}].ports[{j}].hostPort", host, text))


def validate_dns_config(spec: JsonObject, path: str, errors: list[FieldError]) -> None:
    config = spec.get("dnsConfig")
    if spec.get("dnsPolicy") == "None":
        if config is None:
            errors.append(required(path, "must provide `dnsConfig` when `dnsPolicy` is None"))
            return
        if not config.get("nameservers"):
            text = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            errors.append(required(f"{path}.nameservers", text))
            return
    if config is None:
        return
    servers, searches = config.get("nameservers") or [], config.get("searches") or []
    if len(servers) > _MAX_NAMESERVERS:
        text = f"must not have more than {_MAX_NAMESERVERS} nameservers"
        errors.append(invalid(f"{path}.nameservers", servers, text))
    for i, server in enumerate(servers):
        errors += validate_ip_legacy(f"{path}.nameservers[{i}]", server)
    if len(searches) > _MAX_SEARCHES:
        text = f"must not have more than {_MAX_SEARCHES} search paths"
        errors.append(invalid(f"{path}.searches", searches, text))
    if byte_length(" ".join(searches)) > _MAX_SEARCH_CHARACTERS:
        text = f"must not have more than {_MAX_SEARCH_CHARACTERS} characters (including spaces) in the search list"
        errors.append(invalid(f"{path}.searches", searches, text))
    for i, search in enumerate(searches):
        if search != ".":
            errors += validate_dns1123_subdomain_with_underscore(f"{path}.searches[{i}]", search.removesuffix("."))
    for i, option in enumerate(config.get("options") or ()):
        if not option.get("name"):
            errors.append(required(f"{path}.options[{i}]", "must not be empty"))


def validate_host_aliases(aliases: list[JsonObject], path: str, errors: list[FieldError]) -> None:
    for i, alias in enumerate(aliases):
        errors += validate_ip_legacy(f"{path}[{i}].ip", alias.get("ip", ""))
        for j, name in enumerate(alias.get("hostnames") or ()):
            errors += validate_dns1123_subdomain(f"{path}[{i}].hostnames[{j}]", name)
