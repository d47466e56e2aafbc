"""The three lists of containers of a pod: ordinary, init (with sidecars) and ephemeral."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.validation.container import PodContext, validate_container
from gateway.validation.field import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_found,
    not_supported,
    required,
    too_many,
)
from gateway.validation.pod_options import PodOptions
from gateway.validation.probes import validate_lifecycle, validate_probes

_RESTART_POLICIES = ("Always", "Never", "OnFailure")
_RULE_ACTIONS = ("Restart", "RestartAllContainers")
_RULE_OPERATORS = ("In", "NotIn")
_ONLY_SIDECARS = "may not be set for init containers without restartPolicy=Always"
_NOT_EPHEMERAL = "cannot be set for an Ephemeral Container"
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_EPHEMERAL_FORBIDDEN = (
    "ports",
    "resources",
    "resizePolicy",
    "restartPolicy",
    "restartPolicyRules",
    *_PROBES,
    "lifecycle",
)


def validate_containers(containers: list[JsonObject], path: str, errors: list[FieldError], pod: PodContext) -> None:
    if not containers:
        errors.append(required(path))
        return
    names: set[str] = set()
    for i, container in enumerate(containers):
        at = f"{path}[{i}]"
        validate_container(container, at, errors, pod)
        name = container.get("name", "")
        if name in names:
            errors.append(duplicate(f"{at}.name", name))
        names.add(name)
        lifecycle = container.get("lifecycle")
        if lifecycle is not None:
            validate_lifecycle(lifecycle, f"{at}.lifecycle", errors, pod.grace, pod.system)
        validate_probes(container, at, errors, pod.grace)
        if "restartPolicy" in container or "restartPolicyRules" in container:
            _restart_policy(container, at, errors, pod.options)
    _host_ports(containers, path, errors, set())


def _restart_policy(container: JsonObject, path: str, errors: list[FieldError], options: PodOptions) -> None:
    """restartPolicy and restartPolicyRules of a container (KEP-5307)."""
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules") or []
    if policy is None:
        if not rules:
            return
        errors.append(required(f"{path}.restartPolicy", "must specify restartPolicy when restart rules are used"))
    elif policy not in _RESTART_POLICIES:
        errors.append(not_supported(f"{path}.restartPolicy", policy, _RESTART_POLICIES))
    actions = _RULE_ACTIONS if options.restart_all_containers else _RULE_ACTIONS[:1]
    if len(rules) > 20:
        errors.append(too_many(f"{path}.restartPolicyRules", len(rules), 20))
    for i, rule in enumerate(rules):
        at = f"{path}.restartPolicyRules[{i}]"
        action, codes = rule.get("action", ""), rule.get("exitCodes")
        if action not in actions:
            errors.append(not_supported(f"{at}.action", action, actions))
        if codes is None:
            errors.append(required(f"{at}.exitCodes", "must be specified"))
            continue
        if (operator := codes.get("operator", "")) not in _RULE_OPERATORS:
            errors.append(not_supported(f"{at}.exitCodes.operator", operator, _RULE_OPERATORS))
        if len(values := codes.get("values") or ()) > 255:
            errors.append(too_many(f"{at}.exitCodes.values", len(values), 255))


def _host_ports(containers: list[JsonObject], path: str, errors: list[FieldError], seen: set[str]) -> None:
    for i, container in enumerate(containers):
        for j, port in enumerate(container.get("ports") or ()):
            if number := port.get("hostPort"):
                key = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{number}"
                if key in seen:
                    errors.append(duplicate(f"{path}[{i}].ports[{j}].hostPort", key))
                seen.add(key)


def validate_init_containers(
    containers: list[JsonObject], regular: list[JsonObject], path: str, errors: list[FieldError], pod: PodContext
) -> None:
    names = {container.get("name", "") for container in regular}
    for i, container in enumerate(containers):
        at, name = f"{path}[{i}]", container.get("name", "")
        validate_container(container, at, errors, pod)
        _init_restart_policy(container, at, errors, pod.options)
        if name in names:
            errors.append(duplicate(f"{at}.name", name))
        elif name:
            names.add(name)
        _host_ports([container], path, errors, set())
        sidecar = container.get("restartPolicy") == "Always"
        lifecycle = container.get("lifecycle")
        if not sidecar:
            errors += [forbidden(f"{at}.{key}", _ONLY_SIDECARS) for key in ("lifecycle", *_PROBES) if key in container]
            if not pod.options.restart_for_init_resize:
                _init_resize_policy(container, at, errors)
            continue
        if lifecycle is not None:
            validate_lifecycle(lifecycle, f"{at}.lifecycle", errors, pod.grace, pod.system)
        validate_probes(container, at, errors, pod.grace)


def _init_restart_policy(container: JsonObject, path: str, errors: list[FieldError], options: PodOptions) -> None:
    if container.get("restartPolicy") == "Always" and not options.restart_all_containers:
        if container.get("restartPolicyRules"):
            text = "restartPolicyRules are not allowed for init containers with restart policy Always"
            errors.append(forbidden(f"{path}.restartPolicyRules", text))
    elif "restartPolicy" in container:
        _restart_policy(container, path, errors, options)
    elif container.get("restartPolicyRules"):
        errors.append(required(f"{path}.restartPolicy", "must specify restartPolicy when restart rules are used"))


def _init_resize_policy(container: JsonObject, path: str, errors: list[FieldError]) -> None:
    for j, policy in enumerate(container.get("resizePolicy") or ()):
        if policy.get("restartPolicy") == "RestartContainer":
            text = "must not be set to 'RestartContainer' for non-sidecar initContainers"
            errors.append(invalid(f"{path}.resizePolicy[{j}].restartPolicy", "RestartContainer", text))


def validate_ephemeral_containers(
    spec: JsonObject, containers: list[JsonObject], path: str, errors: list[FieldError], pod: PodContext
) -> None:
    others = {c.get("name", "") for key in ("containers", "initContainers") for c in spec.get(key) or ()}
    names = set(others)
    for i, container in enumerate(containers):
        at, name = f"{path}[{i}]", container.get("name", "")
        validate_container(container, at, errors, pod)
        validate_image_spacing(container, at, errors)
        if name in names:
            errors.append(duplicate(f"{at}.name", name))
        names.add(name)
        if (target := container.get("targetContainerName")) and target not in others:
            errors.append(not_found(f"{at}.targetContainerName", target))
        for key in _EPHEMERAL_FORBIDDEN:
            if container.get(key) not in (None, {}) or (key in container and key not in ("ports", "resources")):
                errors.append(forbidden(f"{at}.{key}", _NOT_EPHEMERAL))
        for j, mount in enumerate(container.get("volumeMounts") or ()):
            for key in ("subPath", "subPathExpr"):
                if mount.get(key):
                    errors.append(forbidden(f"{at}.volumeMounts[{j}].{key}", _NOT_EPHEMERAL))


def validate_image_spacing(container: JsonObject, path: str, errors: list[FieldError]) -> None:
    """For pods only. In templates, older servers accepted white space around an image."""
    image = container.get("image", "")
    if image != image.strip():
        errors.append(invalid(f"{path}.image", image, "must not have leading or trailing whitespace"))
