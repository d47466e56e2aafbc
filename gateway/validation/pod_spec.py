"""The spec of a pod (API reference "PodSpec"), in pods and in templates.

The checks are in the order in which kube-apiserver reports errors.
"""

from __future__ import annotations

from collections.abc import Set

from gateway.jsontypes import JsonObject
from gateway.validation.container import PodContext
from gateway.validation.containers import validate_containers, validate_ephemeral_containers, validate_init_containers
from gateway.validation.field import FieldError, forbidden, invalid, not_found, not_supported, required, too_long
from gateway.validation.formats import validate_dns1123_label, validate_dns1123_subdomain
from gateway.validation.labels import validate_labels
from gateway.validation.names import byte_length, is_dns1123_subdomain, is_qualified_name, range_message
from gateway.validation.pod_network import validate_dns_config, validate_host_aliases, validate_host_ports
from gateway.validation.pod_options import PodOptions, containers_with_path
from gateway.validation.pod_resources import validate_pod_resources, validate_resource_claims
from gateway.validation.resource_requirements import validate_resource_requirements
from gateway.validation.scheduling import (
    validate_affinity,
    validate_scheduling_gates,
    validate_spread_constraints,
    validate_tolerations,
)
from gateway.validation.security_context import validate_pod_security_context, validate_shared_processes
from gateway.validation.volumes import validate_volumes
from gateway.validation.windows_options import validate_host_process, validate_linux_pod, validate_windows_pod

_RESTART_POLICIES = ("Always", "OnFailure", "Never")
_DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_MAX_INT32 = 2**31 - 1
_NO_USER_NAMESPACE = "when `hostUsers` is false"


def validate_pod_spec(
    spec: JsonObject, meta: JsonObject | None, path: str, errors: list[FieldError], options: PodOptions
) -> None:
    """Adds the errors of a pod's spec to `errors`. `meta` is the pod's metadata; None for a template."""
    grace = spec.get("terminationGracePeriodSeconds")
    if grace is None:
        errors.append(required(f"{path}.terminationGracePeriodSeconds"))
    volumes: dict[str, JsonObject] = {}
    if listed := spec.get("volumes"):
        volumes = validate_volumes(listed, (meta or {}).get("name", ""), f"{path}.volumes", errors, options)
    claims: Set[str] = frozenset()
    if wanted := spec.get("resourceClaims"):
        claims = {claim["name"] for claim in wanted if claim.get("name")}
        validate_resource_claims(wanted, meta, f"{path}.resourceClaims", errors)
    restart, host_users = spec.get("restartPolicy", ""), spec.get("hostUsers") is not False
    system = None if (named := spec.get("os")) is None else named.get("name", "")
    pod = PodContext(volumes, claims, grace, restart, host_users, options, system)
    containers = spec.get("containers") or []
    validate_containers(containers, f"{path}.containers", errors, pod)
    if init := spec.get("initContainers"):
        validate_init_containers(init, containers, f"{path}.initContainers", errors, pod)
    if ephemeral := spec.get("ephemeralContainers"):
        validate_ephemeral_containers(spec, ephemeral, f"{path}.ephemeralContainers", errors, pod)
    if "resources" in spec:
        validate_pod_resources(spec, claims, path, errors, options)
    if spec.get("hostNetwork"):
        validate_host_ports(spec, path, errors, options)
    _policies(spec, path, errors)
    _placement(spec, path, errors, options)
    _user_namespace(spec, path, errors, options)
    _host_name(spec, path, errors)
    _names(spec, path, errors)
    _rest(spec, path, errors, options)
    if pod.reads_files:
        _file_references(spec, path, errors)


def stands_alone(spec: JsonObject) -> bool:
    """Whether the errors of a spec do not depend on the pod's metadata."""
    volumes = spec.get("volumes") or ()
    return not spec.get("resourceClaims") and not any("ephemeral" in volume for volume in volumes)


def _policies(spec: JsonObject, path: str, errors: list[FieldError]) -> None:
    for key, supported in (("restartPolicy", _RESTART_POLICIES), ("dnsPolicy", _DNS_POLICIES)):
        value = spec.get(key, "")
        if not value:
            errors.append(required(f"{path}.{key}"))
        elif value not in supported:
            errors.append(not_supported(f"{path}.{key}", value, supported))


def _placement(spec: JsonObject, path: str, errors: list[FieldError], options: PodOptions) -> None:
    if selector := spec.get("nodeSelector"):
        errors += validate_labels(selector, f"{path}.nodeSelector")
    if context := spec.get("securityContext"):
        validate_pod_security_context(context, spec, f"{path}.securityContext", errors, options)
    elif spec.get("shareProcessNamespace") and not options.revised:
        validate_pod_security_context({}, spec, f"{path}.securityContext", errors, options)
    if options.revised:
        validate_shared_processes(spec, path, errors)
    affinity = spec.get("affinity")
    if affinity is not None:
        validate_affinity(affinity, f"{path}.affinity", errors, options)
    if "dnsConfig" in spec or spec.get("dnsPolicy") == "None":
        validate_dns_config(spec, f"{path}.dnsConfig", errors)
    for i, gate in enumerate(spec.get("readinessGates") or ()):
        kind = gate.get("conditionType", "")
        for message in is_qualified_name(kind):
            errors.append(invalid(f"{path}.readinessGates[{i}].conditionType", kind, message))
    if gates := spec.get("schedulingGates"):
        validate_scheduling_gates(gates, f"{path}.schedulingGates", errors)
    if constraints := spec.get("topologySpreadConstraints"):
        validate_spread_constraints(constraints, f"{path}.topologySpreadConstraints", errors, options)
    validate_host_process(spec, path, errors)


def _user_namespace(spec: JsonObject, path: str, errors: list[FieldError], options: PodOptions) -> None:
    if spec.get("hostUsers") is not False:
        return
    if spec.get("hostNetwork") and not options.host_network_with_user_namespaces:
        errors.append(forbidden(f"{path}.hostNetwork", _NO_USER_NAMESPACE))
    for key, shown in (("hostPID", "HostPID"), ("hostIPC", "HostIPC")):
        if spec.get(key):
            errors.append(forbidden(f"{path}.{shown}", _NO_USER_NAMESPACE))
    if not options.devices_with_user_namespaces:
        for container, at in containers_with_path(spec, path):
            if container.get("volumeDevices"):
                errors.append(forbidden(f"{at}.volumeDevices", _NO_USER_NAMESPACE))


def _host_name(spec: JsonObject, path: str, errors: list[FieldError]) -> None:
    name = spec.get("hostnameOverride")
    if name is None:
        return
    at = f"{path}.hostnameOverride"
    if spec.get("setHostnameAsFQDN"):
        errors.append(forbidden(at, "may not be specified when setHostnameAsFQDN is true"))
    if spec.get("hostNetwork"):
        errors.append(forbidden(at, "may not be specified when hostNetwork is true"))
    if byte_length(name) > 64:
        errors.append(too_long(at, 64))
    errors += validate_dns1123_subdomain(at, name)


def _names(spec: JsonObject, path: str, errors: list[FieldError]) -> None:
    for key in ("serviceAccountName", "nodeName"):
        if name := spec.get(key):
            errors += [invalid(f"{path}.{key}", name, message) for message in is_dns1123_subdomain(name)]
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= _MAX_INT32:
        errors.append(invalid(f"{path}.activeDeadlineSeconds", deadline, range_message(1, _MAX_INT32)))
    for key in ("hostname", "subdomain"):
        if name := spec.get(key):
            errors += validate_dns1123_label(f"{path}.{key}", name)


def _rest(spec: JsonObject, path: str, errors: list[FieldError], options: PodOptions) -> None:
    if tolerations := spec.get("tolerations"):
        validate_tolerations(tolerations, f"{path}.tolerations", errors, options)
    if aliases := spec.get("hostAliases"):
        validate_host_aliases(aliases, f"{path}.hostAliases", errors)
    if name := spec.get("priorityClassName"):
        errors += [invalid(f"{path}.priorityClassName", name, message) for message in is_dns1123_subdomain(name)]
    name = spec.get("runtimeClassName")
    if name is not None:
        errors += [invalid(f"{path}.runtimeClassName", name, message) for message in is_dns1123_subdomain(name)]
    preemption = spec.get("preemptionPolicy")
    if preemption is not None and preemption not in ("PreemptLowerPriority", "Never"):
        at = f"{path}.preemptionPolicy"
        supported = ("PreemptLowerPriority", "Never")
        errors.append(not_supported(at, preemption, supported) if preemption else required(at))
    if overhead := spec.get("overhead"):
        allow = options.indivisible_huge_pages
        limits = {"limits": overhead}
        validate_resource_requirements(limits, f"{path}.overhead", errors, allow_indivisible_huge_pages=allow)
    system = spec.get("os")
    if system is not None:
        _operating_system(system, spec, path, errors, options)
    if "schedulingGroup" in spec:
        _scheduling_group(spec, f"{path}.schedulingGroup", errors)


def _operating_system(
    system: JsonObject, spec: JsonObject, path: str, errors: list[FieldError], options: PodOptions
) -> None:
    name = system.get("name", "")
    if not name:
        errors.append(required(f"{path}.os.name"))
    elif name == "linux":
        validate_linux_pod(spec, path, errors)
    elif name == "windows":
        validate_windows_pod(spec, path, errors, options)
    else:
        errors.append(not_supported(f"{path}.os", name, ("linux", "windows")))


def _scheduling_group(spec: JsonObject, path: str, errors: list[FieldError]) -> None:
    """Only a spec that a server with the gate GenericWorkload has stored has a group."""
    name = (spec["schedulingGroup"] or {}).get("podGroupName")
    if name is None:
        errors.append(invalid(f"{path}.podGroupName", None, "must specify one of: `podGroupName`"))
    else:
        errors += validate_dns1123_subdomain(f"{path}.podGroupName", name)
    if spec.get("evictionResponders"):
        errors.append(forbidden(path, "may not be set when evictionResponders is set"))


def _file_references(spec: JsonObject, path: str, errors: list[FieldError]) -> None:
    """The volume of a fileKeyRef must exist and be an emptyDir."""
    for container, at in containers_with_path(spec, path):
        for i, variable in enumerate(container.get("env") or ()):
            reference = (variable.get("valueFrom") or {}).get("fileKeyRef")
            if reference is None:
                continue
            name, place = reference.get("volumeName", ""), f"{at}.env[{i}].valueFrom.fileKeyRef.volumeName"
            volumes = [volume for volume in spec.get("volumes") or () if volume.get("name", "") == name]
            if not volumes:
                errors.append(not_found(place, name))
            elif "emptyDir" not in volumes[-1]:
                errors.append(invalid(place, name, "referenced volume must be of type emptyDir"))
