"""Options of Windows containers and the rules of HostProcess pods (page "Create a Windows HostProcess Pod")."""

from __future__ import annotations

import re

from gateway.jsontypes import JsonObject
from gateway.validation.field import FieldError, forbidden, invalid
from gateway.validation.internal_form import go_json
from gateway.validation.names import byte_length, is_dns1123_subdomain
from gateway.validation.pod_options import PodOptions, containers_of, containers_with_path

_has_control = re.compile("[\x00-\x1f\x7f]").search
_is_netbios = re.compile(r'[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}').fullmatch
_DNS_LABEL = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_is_domain = re.compile(rf"{_DNS_LABEL}(?:\.{_DNS_LABEL})*").fullmatch
_has_invalid_char = re.compile(r'["/\\:;|=,+*?<>@\[\]]').search
_is_dots_or_spaces = re.compile(r"[. ]+").fullmatch
_MAX_SPEC = 64 * 1024

_POD_FIELDS = (
    *(f"securityContext.{key}" for key in ("appArmorProfile", "seLinuxOptions")),
    *("hostUsers", "hostPID", "hostIPC"),
    *(f"securityContext.{key}" for key in ("seccompProfile", "fsGroup", "fsGroupChangePolicy", "sysctls")),
    "shareProcessNamespace",
    *(f"securityContext.{key}" for key in ("runAsUser", "runAsGroup", "supplementalGroups")),
    *(f"securityContext.{key}" for key in ("supplementalGroupsPolicy", "seLinuxChangePolicy")),
)
_REVISED_POD_FIELDS = sorted(_POD_FIELDS, key=lambda name: "." not in name)  # those of the context come first
_CONTAINER_FIELDS = [
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
]
_NO_WINDOWS = "cannot be set for a windows pod"
_NO_LINUX = "windows options cannot be set for a linux pod"


def validate_windows_options(options: JsonObject, path: str, errors: list[FieldError]) -> None:
    name, spec, user = (options.get(key) for key in ("gmsaCredentialSpecName", "gmsaCredentialSpec", "runAsUserName"))
    if name is not None:
        errors += [invalid(f"{path}.gmsaCredentialSpecName", name, message) for message in is_dns1123_subdomain(name)]
    if spec is not None:
        at = f"{path}.gmsaCredentialSpec"
        if not spec:
            errors.append(invalid(at, spec, "gmsaCredentialSpec cannot be an empty string"))
        elif byte_length(spec) > _MAX_SPEC:
            errors.append(invalid(at, spec, "gmsaCredentialSpec size must be under 64 KiB"))
    if user is not None:
        errors += [invalid(f"{path}.runAsUserName", go_json(user), f"runAsUserName{text}") for text in _user_name(user)]


def _user_name(name: str) -> list[str]:
    if not name:
        return [" cannot be an empty string"]
    if _has_control(name):
        return [" cannot contain control characters"]
    if name.count("\\") > 1:
        return [" cannot contain more than one backslash"]
    domain, backslash, user = name.rpartition("\\")
    found = []
    if byte_length(domain) >= 256:
        found.append("'s Domain length must be under 256 characters")
    if backslash and not (_is_netbios(domain) or _is_domain(domain)):
        found.append("'s Domain doesn't match the NetBios nor the DNS format")
    if not user:
        found.append("'s User cannot be empty")
    elif byte_length(user) > 104:
        found.append("'s User length must not be longer than 104 characters")
    if _is_dots_or_spaces(user):
        found.append("'s User cannot contain only periods or spaces")
    if _has_invalid_char(user):
        found.append("'s User cannot contain the following characters: \"/\\:;|=,+*?<>@[]")
    return found


def validate_host_process(spec: JsonObject, path: str, errors: list[FieldError]) -> None:
    """Either all containers of a pod must be HostProcess containers, or none."""
    if not any("windowsOptions" in (part.get("securityContext") or ()) for part in (spec, *containers_of(spec))):
        return
    options = (spec.get("securityContext") or {}).get("windowsOptions") or {}
    pod_process = options.get("hostProcess")
    count = total = 0
    for container, at in containers_with_path(spec, path):
        total += 1
        own_options = (container.get("securityContext") or {}).get("windowsOptions") or {}
        own = own_options.get("hostProcess")
        if pod_process is not None and own is not None and pod_process != own:
            text = f"pod hostProcess value must be identical if both are specified, was {str(pod_process).lower()}"
            errors.append(invalid(f"{at}.securityContext.windowsOptions.hostProcess", own, text))
        count += bool(pod_process if own is None else own)
    if not count:
        return
    if count != total:
        text = "If pod contains any hostProcess containers then all containers must be HostProcess containers"
        errors.append(invalid(path, "", text))
    if not spec.get("hostNetwork"):
        text = "hostNetwork must be true if pod contains any hostProcess containers"
        errors.append(invalid(f"{path}.hostNetwork", False, text))


def validate_linux_pod(spec: JsonObject, path: str, errors: list[FieldError]) -> None:
    if "windowsOptions" in (spec.get("securityContext") or {}):
        errors.append(forbidden(f"{path}.securityContext.windowsOptions", _NO_LINUX))
    for container, at in containers_with_path(spec, path):
        if "windowsOptions" in (container.get("securityContext") or {}):
            errors.append(forbidden(f"{at}.securityContext.windowsOptions", _NO_LINUX))


def validate_windows_pod(spec: JsonObject, path: str, errors: list[FieldError], options: PodOptions) -> None:
    security = spec.get("securityContext") or {}
    for key in _REVISED_POD_FIELDS if options.revised else _POD_FIELDS:
        holder = security if key.startswith("securityContext.") else spec
        name = key.removeprefix("securityContext.")
        set_at_all = holder.get(name) if name in ("hostPID", "hostIPC", "sysctls") else name in holder
        if set_at_all:
            errors.append(forbidden(f"{path}.{key}", _NO_WINDOWS))
    for container, at in containers_with_path(spec, path):
        context = container.get("securityContext") or {}
        errors += [forbidden(f"{at}.securityContext.{key}", _NO_WINDOWS) for key in _CONTAINER_FIELDS if key in context]
