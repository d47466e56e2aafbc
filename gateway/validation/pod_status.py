"""The status of a pod, as nodes and controllers report it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from gateway.jsontypes import JsonObject
from gateway.validation.addresses import parse_ip, validate_ip_legacy
from gateway.validation.field import (
    FieldError,
    Verbatim,
    duplicate,
    forbidden,
    go_value,
    internal,
    invalid,
    not_supported,
    required,
    reworded,
    too_long,
)
from gateway.validation.formats import is_user_id, validate_dns1123_label
from gateway.validation.names import byte_length, is_dns1123_subdomain, is_qualified_name, range_message
from gateway.validation.pod_options import containers_of
from gateway.validation.quantities import nano
from gateway.validation.volume_health import validate_pod_volume_health

_SYSTEM_CONDITIONS = ("PodScheduled", "Ready", "Initialized")
_NOT_NEGATIVE = "must be a non-negative integer"
_LISTS = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
_CLAIM_NAMES = (
    "must match one of the container's resource claims as 'claim:<claimName>/<requestName>' when "
    "container.resources.claims[*].request is set or 'claim:<claimName>' when it is empty"
)
_HEALTH = ("Healthy", "Unhealthy", "Unknown")
_MAX_HEALTH_MESSAGE = 1024
_MAX_UID = 2**32 - 1  # of a process in Linux; a pod may ask for less than half of them


def validate_pod_status_update(new: JsonObject, old: JsonObject, errors: list[FieldError], revised: bool) -> None:
    """Adds the errors of the new status to `errors`. `new` and `old` are pods.

    `revised` is whether the release has PodStatusRevised.
    """
    status, before = new.get("status") or {}, old.get("status") or {}
    spec, old_spec = new.get("spec") or {}, old.get("spec") or {}
    _conditions(status.get("conditions") or (), errors)
    _nominated_node(status, before, old_spec, errors)
    generation = status.get("observedGeneration", 0)
    if generation < 0:
        errors.append(invalid("status.observedGeneration", generation, _NOT_NEGATIVE))
    if status.get("qosClass", "") != before.get("qosClass", ""):
        errors.append(invalid("status.qosClass", status.get("qosClass", ""), "field is immutable"))
    for key, containers in (("containerStatuses", "containers"), ("initContainerStatuses", "initContainers")):
        _transitions(key, containers, status, before, old_spec, errors)
    _transitions("ephemeralContainerStatuses", "", status, before, old_spec, errors)
    _claims(status.get("resourceClaimStatuses") or (), spec, errors)
    if "extendedResourceClaimStatus" in status:
        _extended_claim(status["extendedResourceClaimStatus"], spec, errors)
    if health := status.get("volumeHealth"):
        errors += validate_pod_volume_health(health, spec)
    _addresses("podIPs", status, before, errors)
    if revised:
        _same_address(status.get("podIP", ""), status.get("podIPs") or [], errors)
    _host_addresses(status, before, errors)
    for key in _LISTS:
        _users(status.get(key) or (), (spec.get("os") or {}).get("name", "linux"), f"status.{key}", errors, revised)
    extended = (status.get("extendedResourceClaimStatus") or {}) if revised else {}
    for key, containers in (("containerStatuses", "containers"), ("initContainerStatuses", "initContainers")):
        _allocated(status.get(key) or (), spec.get(containers) or (), f"status.{key}", errors, extended)
    for i, container in enumerate(status.get("ephemeralContainerStatuses") or ()):
        if container.get("allocatedResourcesStatus"):
            at = f"status.ephemeralContainerStatuses[{i}].allocatedResourcesStatus"
            errors.append(forbidden(at, "must not be specified in container status"))


def _conditions(conditions: Any, errors: list[FieldError]) -> None:
    for i, condition in enumerate(conditions):
        generation, kind = condition.get("observedGeneration", 0), condition.get("type", "")
        if generation < 0:
            errors.append(invalid(f"status.conditions[{i}].observedGeneration", generation, _NOT_NEGATIVE))
        if kind not in _SYSTEM_CONDITIONS:
            errors += [invalid(f"status.conditions[{i}].Type", kind, message) for message in is_qualified_name(kind)]


def _nominated_node(status: JsonObject, before: JsonObject, spec: JsonObject, errors: list[FieldError]) -> None:
    name = status.get("nominatedNodeName")
    if not name or name == before.get("nominatedNodeName"):
        return
    errors += [invalid("status.nominatedNodeName", name, message) for message in is_dns1123_subdomain(name)]
    if spec.get("nodeName"):
        text = "may not be set on pods that are already bound to a node"
        errors.append(forbidden("status.nominatedNodeName", text))


def _transitions(
    key: str, containers: str, status: JsonObject, before: JsonObject, spec: JsonObject, errors: list[FieldError]
) -> None:
    """A container that has terminated may run again only if its restart policy says so."""
    if containers and _may_restart_all(spec):
        return
    named = {container.get("name", ""): container for container in reversed(spec.get(containers) or ())}
    for i, old in enumerate(before.get(key) or ()):
        terminated = (old.get("state") or {}).get("terminated")
        if terminated is None:
            continue
        matches = [new for new in status.get(key) or () if new.get("name", "") == old.get("name", "")]
        again = [new for new in matches if "terminated" not in (new.get("state") or {})]
        if not again:
            continue
        container = named.get(old.get("name", ""))
        if container is not None and _should_restart(container, spec, terminated.get("exitCode", 0)):
            continue
        count = 1 if containers else len(again)
        text = "may not be transitioned to non-terminated state"
        errors += [forbidden(f"status.{key}[{i}].state", text)] * count


def _rules(spec: JsonObject) -> Iterator[JsonObject]:
    for container in containers_of(spec):
        yield from container.get("restartPolicyRules") or ()


def _may_restart_all(spec: JsonObject) -> bool:
    return any(rule.get("action") == "RestartAllContainers" for rule in _rules(spec))


def _should_restart(container: JsonObject, spec: JsonObject, exit_code: int) -> bool:
    """Whether a container restarts: if a restart rule matches, else by its own policy, else by that of the pod."""
    policy = container.get("restartPolicy")
    if policy is not None:
        for rule in container.get("restartPolicyRules") or ():
            codes = rule.get("exitCodes")
            if codes is not None and (exit_code in (codes.get("values") or ())) == (codes.get("operator") == "In"):
                return True
    policy = policy or spec.get("restartPolicy") or "Always"
    return policy == "Always" or (policy == "OnFailure" and exit_code != 0)


def _claims(statuses: Any, spec: JsonObject, errors: list[FieldError]) -> None:
    known = {claim.get("name", "") for claim in spec.get("resourceClaims") or ()}
    seen: set[str] = set()
    for i, status in enumerate(statuses):
        name, at = status.get("name", ""), f"status.resourceClaimStatuses[{i}]"
        if name not in known:
            text = "must match the name of an entry in `spec.resourceClaims`"
            errors.append(invalid(f"{at}.name", name, text))
        if name in seen:
            errors.append(duplicate(f"{at}.name", name))
        seen.add(name)
        claim = status.get("resourceClaimName")
        if claim is not None:
            errors += [invalid(f"{at}.resourceClaimName", claim, message) for message in is_dns1123_subdomain(claim)]


def _extended_claim(status: JsonObject, spec: JsonObject, errors: list[FieldError]) -> None:
    path = "status.extendedResourceClaimStatus"
    containers = {c.get("name", ""): c for key in ("initContainers", "containers") for c in spec.get(key) or ()}
    mappings = status.get("requestMappings") or ()
    if not mappings:
        errors.append(required(f"{path}.requestMappings", "at least one request mapping is required"))
    seen: set[tuple[str, str, str]] = set()
    for i, mapping in enumerate(mappings):
        keys = ("containerName", "resourceName", "requestName")
        values = container, resource, request = tuple(mapping.get(key, "") for key in keys)
        at = f"{path}.requestMappings[{i}]"
        if container not in containers:
            text = "must match the name of an entry in spec.initContainers.name or spec.containers.name"
            errors.append(invalid(f"{at}.containerName", container, text))
        elif resource not in ((containers[container].get("resources") or {}).get("requests") or {}):
            text = "must match the extended resource name of an entry in spec.initContainers.resources.requests or "
            errors.append(invalid(f"{at}.resourceName", resource, f"{text}spec.containers.resources.requests"))
        errors += validate_dns1123_label(f"{path}.requestName", request)
        if values in seen:
            errors += [duplicate(f"{at}.{key}", value) for key, value in zip(keys, values, strict=True)]
        seen.add((container, resource, request))
    name = status.get("resourceClaimName", "")
    if not name:
        errors.append(required(f"{path}.resourceClaimName"))
    else:
        errors += [invalid(f"{path}.resourceClaimName", name, message) for message in is_dns1123_subdomain(name)]


def _addresses(key: str, status: JsonObject, before: JsonObject, errors: list[FieldError]) -> None:
    present = [address.get("ip", "") for address in status.get(key) or ()]
    existing = tuple(address.get("ip", "") for address in before.get(key) or ())
    for i, address in enumerate(present):
        errors += validate_ip_legacy(f"status.{key}[{i}]", address, existing)
    if len(present) < 2:
        return
    parsed = [parse_ip(address) for address in present]
    if None in parsed:
        at = parsed.index(None)
        text = f"failed to check for dual stack with error:invalid IP[{at}]: {present[at]}"
        errors.append(internal(f"status.{key}", text))
    families = {address.version for address in parsed if address is not None}
    if None in parsed or len(families) < 2 or len(present) > 2:
        text = "may specify no more than one IP for each IP family"
        errors.append(invalid(f"status.{key}", _shown(present), text))


def _same_address(one: str, several: list[JsonObject], errors: list[FieldError]) -> None:
    if bool(one) != bool(several):
        text = "podIP and podIPs must either both be set or both be unset"
        errors.append(invalid("status.podIPs", _shown([each.get("ip", "") for each in several]), text))
    elif several and several[0].get("ip", "") != one:
        errors.append(invalid("status.podIPs[0].ip", several[0].get("ip", ""), "must be equal to `podIP`"))


def _shown(addresses: list[str]) -> Verbatim | None:
    """A list of addresses as Go's JSON of a list of PodIP or HostIP shows it."""
    shown = ",".join(f'{{"IP":{go_value(address)}}}' for address in addresses)
    return Verbatim(f"[{shown}]") if addresses else None


def _host_addresses(status: JsonObject, before: JsonObject, errors: list[FieldError]) -> None:
    if not (hosts := status.get("hostIPs")):
        return
    first = hosts[0].get("ip", "")
    if status.get("hostIP", "") != first:
        errors.append(invalid("status.hostIPs[0].ip", first, "must be equal to `hostIP`"))
    _addresses("hostIPs", status, before, errors)


def _users(statuses: Any, system: str, path: str, errors: list[FieldError], revised: bool) -> None:
    for i, status in enumerate(statuses):
        user = (status.get("user") or {}).get("linux")
        if user is None:
            continue
        at = f"{path}[{i}].user.linux"
        if system == "windows":
            errors.append(forbidden(at, "cannot be set for a windows pod"))
        elif system == "linux":
            uid, gid = user.get("uid", 0), user.get("gid", 0)
            if not revised:
                errors += [invalid(f"{at}.uid", uid, message) for message in is_user_id(uid)]
            elif not 0 <= uid <= _MAX_UID:
                errors.append(invalid(f"{at}.uid", uid, range_message(0, _MAX_UID)))
            errors += [invalid(f"{at}.gid", gid, message) for message in is_user_id(gid)]
            for g, group in enumerate(user.get("supplementalGroups") or ()):
                errors += [invalid(f"{at}.supplementalGroups[{g}]", group, message) for message in is_user_id(group)]


def _allocated(statuses: Any, containers: Any, path: str, errors: list[FieldError], extended: JsonObject) -> None:
    """`extended` is the claim for extended resources; {} where it does not count."""
    named = {container.get("name", ""): container for container in containers}
    claimed = {name: _claimed(container.get("resources") or {}) for name, container in named.items()}
    for name, container in named.items():
        claimed[name] |= _claimed_for(container, extended)
    for i, status in enumerate(statuses):
        for j, allocated in enumerate(status.get("allocatedResourcesStatus") or ()):
            at, container = f"{path}[{i}].allocatedResourcesStatus[{j}]", named.get(status.get("name", ""))
            if container is not None:
                known = claimed[status.get("name", "")]
                _allocated_name(allocated.get("name", ""), container.get("resources") or {}, known, at, errors)
            _health(allocated.get("resources") or (), at, errors)


def _claimed(resources: JsonObject) -> set[str]:
    """The names of a container's resource claims: "claim", or "claim/request"."""
    claims = resources.get("claims") or ()
    return {f"{c.get('name', '')}/{c['request']}" if c.get("request") else c.get("name", "") for c in claims}


def _claimed_for(container: JsonObject, extended: JsonObject) -> set[str]:
    """The names of the claim for extended resources, "claim/request", that stand for what a container requests."""
    wanted = (container.get("resources") or {}).get("requests") or {}
    return {
        f"{extended.get('resourceClaimName', '')}/{mapping['requestName']}"
        for mapping in extended.get("requestMappings") or ()
        if mapping.get("containerName", "") == container.get("name", "")
        and mapping.get("requestName")
        and nano(wanted.get(mapping.get("resourceName", ""), "0"))
    }


def _allocated_name(name: str, resources: JsonObject, known: set[str], path: str, errors: list[FieldError]) -> None:
    if name.startswith("claim:"):
        text = "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or "
        if name.removeprefix("claim:") not in known:
            error = invalid(f"{path}.name", name, f"{text}'claim:<claimName>' if request is empty")
            errors.append(reworded("PodStatusRevised", error, partial(invalid, error.field, name, _CLAIM_NAMES)))
    elif name not in (resources.get("requests") or {}):
        errors.append(invalid(f"{path}.name", name, "must match one of the container's resource requests"))


def _health(resources: Any, path: str, errors: list[FieldError]) -> None:
    seen: set[str] = set()
    for k, resource in enumerate(resources):
        at, identifier = f"{path}.resources[{k}]", resource.get("resourceID", "")
        health, message = resource.get("health", ""), resource.get("message")
        if health not in _HEALTH:
            errors.append(not_supported(f"{at}.health", health, _HEALTH))
        if message is not None and not message:
            errors.append(required(f"{at}.message", "must be non-empty if specified"))
        elif message is not None and byte_length(message) > _MAX_HEALTH_MESSAGE:
            errors.append(too_long(f"{at}.message", _MAX_HEALTH_MESSAGE))
        if identifier in seen:
            errors.append(duplicate(f"{at}.resourceID", identifier))
        seen.add(identifier)
