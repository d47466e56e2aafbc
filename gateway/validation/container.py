"""The fields that all containers have: name, image, ports, environment, mounts, resources, security context."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass

from gateway.jsontypes import JsonObject
from gateway.validation.container_env import validate_env, validate_env_from
from gateway.validation.field import FieldError, duplicate, invalid, not_supported, required
from gateway.validation.formats import is_port_name, is_port_number
from gateway.validation.names import is_dns1123_label
from gateway.validation.pod_options import PodOptions
from gateway.validation.resource_requirements import validate_resource_requirements
from gateway.validation.security_context import validate_security_context
from gateway.validation.volume_mounts import validate_volume_devices, validate_volume_mounts

_MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_RESIZE_POLICIES = ("NotRequired", "RestartContainer")


@dataclass(slots=True)
class PodContext:
    """The facts about a pod that the checks of its containers need."""

    volumes: Mapping[str, JsonObject]  # valid volumes, by name
    claims: Set[str]  # names in spec.resourceClaims
    grace: int | None
    restart_policy: str
    host_users: bool
    options: PodOptions
    system: str | None  # that the pod names
    reads_files: bool = False  # becomes true if a checked container has a fileKeyRef


def validate_container(container: JsonObject, path: str, errors: list[FieldError], pod: PodContext) -> None:
    """Checks the fields that all kinds of containers have. Adds errors to `errors`."""
    name = container.get("name")
    if not name:
        errors.append(required(f"{path}.name"))
    elif messages := is_dns1123_label(name):
        errors += [invalid(f"{path}.name", name, message) for message in messages]
    if not container.get("image"):
        errors.append(required(f"{path}.image"))
    policy = container.get("terminationMessagePolicy", "")
    if policy not in _MESSAGE_POLICIES:
        at = f"{path}.terminationMessagePolicy"
        errors.append(not_supported(at, policy, _MESSAGE_POLICIES) if policy else required(at))
    if ports := container.get("ports"):
        _ports(ports, f"{path}.ports", errors)
    if variables := container.get("env"):
        pod.reads_files |= validate_env(variables, f"{path}.env", errors)
    if sources := container.get("envFrom"):
        validate_env_from(sources, f"{path}.envFrom", errors)
    mounts, devices = container.get("volumeMounts"), container.get("volumeDevices")
    if mounts:
        validate_volume_mounts(mounts, container, pod.volumes, f"{path}.volumeMounts", errors)
    if devices:
        validate_volume_devices(devices, container, pod.volumes, f"{path}.volumeDevices", errors)
    if (pull := container.get("imagePullPolicy", "")) not in _PULL_POLICIES:
        validate_pull_policy(pull, f"{path}.imagePullPolicy", errors)
    if resources := container.get("resources"):
        allow = pod.options.indivisible_huge_pages
        at = f"{path}.resources"
        validate_resource_requirements(resources, at, errors, pod.claims, allow_indivisible_huge_pages=allow)
    if policies := container.get("resizePolicy"):
        _resize_policy(policies, f"{path}.resizePolicy", errors, pod.restart_policy)
    context = container.get("securityContext")
    if context is not None:
        at = f"{path}.securityContext"
        validate_security_context(context, at, errors, pod.host_users, pod.options)


def validate_pull_policy(policy: str, path: str, errors: list[FieldError]) -> None:
    if not policy:
        errors.append(required(path))
    elif policy not in _PULL_POLICIES:
        errors.append(not_supported(path, policy, _PULL_POLICIES))


def _ports(ports: list[JsonObject], path: str, errors: list[FieldError]) -> None:
    names: set[str] = set()
    for i, port in enumerate(ports):
        if name := port.get("name"):
            _port_name(name, names, path, i, errors)
        number, host = port.get("containerPort", 0), port.get("hostPort", 0)
        if not number:
            errors.append(required(f"{path}[{i}].containerPort"))
        elif messages := is_port_number(number):
            errors += [invalid(f"{path}[{i}].containerPort", number, message) for message in messages]
        if host and (messages := is_port_number(host)):
            errors += [invalid(f"{path}[{i}].hostPort", host, message) for message in messages]
        protocol = port.get("protocol", "")
        if protocol not in _PROTOCOLS:
            at = f"{path}[{i}].protocol"
            errors.append(not_supported(at, protocol, _PROTOCOLS) if protocol else required(at))


def _port_name(name: str, names: set[str], path: str, i: int, errors: list[FieldError]) -> None:
    if messages := is_port_name(name):
        errors += [invalid(f"{path}[{i}].name", name, message) for message in messages]
    elif name in names:
        errors.append(duplicate(f"{path}[{i}].name", name))
    else:
        names.add(name)


def _resize_policy(policies: list[JsonObject], path: str, errors: list[FieldError], restart_policy: str) -> None:
    seen: set[str] = set()
    for i, policy in enumerate(policies):
        resource, restart = policy.get("resourceName", ""), policy.get("restartPolicy", "")
        if resource in seen:
            errors.append(duplicate(f"{path}[{i}]", resource))
        seen.add(resource)
        if not resource:
            errors.append(required(path))
        elif resource not in ("cpu", "memory"):
            errors.append(not_supported(path, resource, ("cpu", "memory")))
        if not restart:
            errors.append(required(path))
        elif restart not in _RESIZE_POLICIES:
            errors.append(not_supported(path, restart, _RESIZE_POLICIES))
        if restart_policy == "Never" and restart != "NotRequired":
            errors.append(invalid(path, restart, "must be 'NotRequired' when pod `restartPolicy` is 'Never'"))
