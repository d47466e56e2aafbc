"""Security contexts of pods and containers, with their seccomp, AppArmor, sysctl and Windows parts."""

from __future__ import annotations

import re

from gateway.jsontypes import JsonObject
from gateway.validation.field import (
    FieldError,
    duplicate,
    invalid,
    not_supported,
    required,
    too_long,
)
from gateway.validation.formats import is_user_id
from gateway.validation.internal_form import internal_json
from gateway.validation.local_paths import validate_local_descending_path
from gateway.validation.names import byte_length
from gateway.validation.pod_options import PodOptions
from gateway.validation.windows_options import validate_windows_options

_PROFILES = ("Localhost", "RuntimeDefault", "Unconfined")
_PROC_MOUNTS = ("Default", "Unmasked")
_SYSCTL_SEGMENT = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL = rf"^({_SYSCTL_SEGMENT}[\./])*{_SYSCTL_SEGMENT}$"
_is_sysctl = re.compile(_SYSCTL.strip("^$")).fullmatch
_IPC_SYSCTLS = frozenset(
    [
        "kernel.sem",
        "kernel.shmall",
        "kernel.shmmax",
        "kernel.shmmni",
        "kernel.shm_rmid_forced",
        "kernel.shm",
        "kernel.msgmax",
        "kernel.msgmnb",
        "kernel.msgmni",
        "kernel.msg",
    ]
)


def validate_security_context(
    context: JsonObject, path: str, errors: list[FieldError], host_users: bool, options: PodOptions
) -> None:
    """Checks the context of a container. `host_users` is false if the pod has its own user namespace."""
    for key in ("runAsUser", "runAsGroup"):
        if key in context:
            errors += [invalid(f"{path}.{key}", context[key], message) for message in is_user_id(context[key])]
    if "procMount" in context:
        mount = context["procMount"]
        if mount not in _PROC_MOUNTS:
            errors.append(not_supported(f"{path}.procMount", mount, _PROC_MOUNTS))
        if host_users and mount == "Unmasked":
            errors.append(invalid(f"{path}.procMount", mount, "`hostUsers` must be false to use `Unmasked`"))
    if "seccompProfile" in context:
        _seccomp_profile(context["seccompProfile"], f"{path}.seccompProfile", errors)
    if context.get("allowPrivilegeEscalation") is False:
        _no_escalation(context, path, errors, options)
    if "windowsOptions" in context:
        validate_windows_options(context["windowsOptions"], f"{path}.windowsOptions", errors)
    if "appArmorProfile" in context:
        validate_app_armor_profile(context["appArmorProfile"], f"{path}.appArmorProfile", errors)


def _no_escalation(context: JsonObject, path: str, errors: list[FieldError], options: PodOptions) -> None:
    if context.get("privileged"):
        text = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
        errors.append(invalid(path, internal_json("SecurityContext", context), text))
    if options.administering_without_escalation:
        return
    for capability in (context.get("capabilities") or {}).get("add") or ():
        if capability == "CAP_SYS_ADMIN":
            text = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
            errors.append(invalid(path, internal_json("SecurityContext", context), text))


def _seccomp_profile(profile: JsonObject, path: str, errors: list[FieldError]) -> None:
    kind, localhost = profile.get("type", ""), profile.get("localhostProfile")
    if not kind:
        errors.append(required(f"{path}.type", "type is required when seccompProfile is set"))
    elif kind not in _PROFILES:
        errors.append(not_supported(f"{path}.type", kind, _PROFILES))
    if kind == "Localhost":
        if localhost is None:
            errors.append(required(f"{path}.localhostProfile", "must be set when seccomp type is Localhost"))
        else:
            errors += validate_local_descending_path(localhost, f"{path}.localhostProfile")
    elif localhost is not None:
        shown = internal_json("SeccompProfile", profile)
        errors.append(invalid(f"{path}.localhostProfile", shown, "can only be set when seccomp type is Localhost"))


def validate_app_armor_profile(profile: JsonObject, path: str, errors: list[FieldError]) -> None:
    kind, localhost, at = profile.get("type", ""), profile.get("localhostProfile"), f"{path}.localhostProfile"
    if kind == "Localhost":
        if localhost is None or not localhost:
            errors.append(required(at, "must be set when AppArmor type is Localhost"))
        elif localhost.strip() != localhost:
            errors.append(invalid(at, localhost, "must not be padded with whitespace"))
        if byte_length(localhost or "") > 4095:
            errors.append(too_long(at, 4095))
    elif kind in ("RuntimeDefault", "Unconfined"):
        if localhost is not None:
            errors.append(invalid(at, localhost, "can only be set when AppArmor type is Localhost"))
    elif not kind:
        errors.append(required(f"{path}.type", "type is required when appArmorProfile is set"))
    else:
        errors.append(not_supported(f"{path}.type", kind, _PROFILES))


def validate_pod_security_context(
    context: JsonObject, spec: JsonObject, path: str, errors: list[FieldError], options: PodOptions
) -> None:
    for key in ("fsGroup", "runAsUser", "runAsGroup"):
        if key in context:
            errors += [invalid(f"{path}.{key}", context[key], message) for message in is_user_id(context[key])]
    for i, group in enumerate(context.get("supplementalGroups") or ()):
        errors += [invalid(f"{path}.supplementalGroups[{i}]", group, message) for message in is_user_id(group)]
    if not options.revised:
        validate_shared_processes(spec, path, errors)
    if sysctls := context.get("sysctls"):
        _sysctls(sysctls, spec, f"{path}.sysctls", errors, options)
    _enum(context, "fsGroupChangePolicy", ("Always", "OnRootMismatch"), path, errors)
    if "seccompProfile" in context:
        _seccomp_profile(context["seccompProfile"], f"{path}.seccompProfile", errors)
    if "windowsOptions" in context:
        validate_windows_options(context["windowsOptions"], f"{path}.windowsOptions", errors)
    if "appArmorProfile" in context:
        validate_app_armor_profile(context["appArmorProfile"], f"{path}.appArmorProfile", errors)
    _enum(context, "supplementalGroupsPolicy", ("Merge", "Strict"), path, errors)
    policies = ("MountOption", "Recursive") if options.selinux_mount_option else ("Recursive",)
    _enum(context, "seLinuxChangePolicy", policies, path, errors)


def validate_shared_processes(spec: JsonObject, path: str, errors: list[FieldError]) -> None:
    """The containers of a pod cannot share their processes with each other and with the host."""
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        text = "ShareProcessNamespace and HostPID cannot both be enabled"
        errors.append(invalid(f"{path}.shareProcessNamespace", True, text))


def _enum(context: JsonObject, key: str, supported: tuple[str, ...], path: str, errors: list[FieldError]) -> None:
    if key in context and context[key] not in supported:
        errors.append(not_supported(f"{path}.{key}", context[key], supported))


def _sysctls(
    sysctls: list[JsonObject], spec: JsonObject, path: str, errors: list[FieldError], options: PodOptions
) -> None:
    names: set[str] = set()
    for i, sysctl in enumerate(sysctls):
        name, at = sysctl.get("name", ""), f"{path}[{i}].name"
        if not name:
            errors.append(required(at))
        elif len(name) > 253 or not _is_sysctl(name):
            errors.append(invalid(at, name, f"must have at most 253 characters and match regex {_SYSCTL}"))
        elif name in names:
            errors.append(duplicate(at, name))
        if not options.host_sysctls and (text := _host_sysctl_message(name, spec)):
            errors.append(invalid(at, name, text))
        names.add(name)


def _host_sysctl_message(sysctl: str, spec: JsonObject) -> str:
    name = sysctl.replace("/", ".") if 0 <= sysctl.find("/") < (sysctl.find(".") % (len(sysctl) + 1)) else sysctl
    if spec.get("hostNetwork") and name.startswith("net."):
        return "may not be specified when 'hostNetwork' is true"
    if spec.get("hostIPC") and (name in _IPC_SYSCTLS or name.startswith("fs.mqueue.")):
        return "may not be specified when 'hostIPC' is true"
    return ""


def breaks_host_sysctl_rule(context: JsonObject, spec: JsonObject) -> bool:
    """Whether the context sets a sysctl of a namespace that the pod shares with its host."""
    return any(_host_sysctl_message(sysctl.get("name", ""), spec) for sysctl in context.get("sysctls") or ())
