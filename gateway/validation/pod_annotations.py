"""Annotations of pods for which the API server has rules."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.validation.annotated_tolerations import read_tolerations
from gateway.validation.field import FieldError, forbidden, go_quote, invalid
from gateway.validation.local_paths import validate_local_descending_path
from gateway.validation.pod_options import PodOptions, containers_of, containers_with_path
from gateway.validation.pod_resources import MIRROR_ANNOTATION
from gateway.validation.scheduling import validate_tolerations

DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"
APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"
_PROFILES = (SECCOMP_POD, SECCOMP_CONTAINER, APP_ARMOR)
_TOLERATIONS = "scheduler.alpha.kubernetes.io/tolerations"
_SINGLE = frozenset({MIRROR_ANNOTATION, _TOLERATIONS, DELETION_COST})
_SECCOMP_RUNTIME = ("runtime/default", "docker/default")


def has_meaning(key: str) -> bool:
    """Whether there are rules for an annotation of pods."""
    return "kubernetes.io/" in key and (key in _SINGLE or key.startswith(_PROFILES))


def deletion_cost_is_valid(annotations: dict[str, str]) -> bool:
    value = annotations.get(DELETION_COST)
    if value is None:
        return True
    digits = value.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()) or (value[0] == "0" and value != "0"):
        return False
    return len(digits) < 64 and -(2**31) <= int(value) < 2**31


def validate_pod_annotations(
    annotations: dict[str, str], spec: JsonObject, path: str, errors: list[FieldError], options: PodOptions
) -> None:
    if not any(map(has_meaning, annotations)):
        return
    if MIRROR_ANNOTATION in annotations and not spec.get("nodeName"):
        text = "must set spec.nodeName if mirror pod annotation is set"
        errors.append(invalid(f"{path}[{MIRROR_ANNOTATION}]", annotations[MIRROR_ANNOTATION], text))
    if annotations.get(_TOLERATIONS):
        _tolerations(annotations[_TOLERATIONS], path, errors, options)
    if DELETION_COST in annotations and not options.any_deletion_cost and not deletion_cost_is_valid(annotations):
        errors.append(invalid(f"{path}[{DELETION_COST}]", annotations[DELETION_COST], "must be a 32bit integer"))
    if SECCOMP_POD in annotations:
        errors += _seccomp(annotations[SECCOMP_POD], f"{path}.{SECCOMP_POD}")
    for key, value in annotations.items():
        if key.startswith(SECCOMP_CONTAINER):
            errors += _seccomp(value, f"{path}.{key}")
    profiles = {key: value for key, value in annotations.items() if key.startswith(APP_ARMOR)}
    names = {container.get("name", "") for container in containers_of(spec)} if profiles else set[str]()
    for key, value in profiles.items():
        _app_armor(key, value, names, path, errors)


def _tolerations(text: str, path: str, errors: list[FieldError], options: PodOptions) -> None:
    try:
        tolerations = read_tolerations(text)
    except ValueError as error:
        errors.append(invalid(path, _TOLERATIONS, str(error)))
    else:
        validate_tolerations(tolerations, f"{path}.{_TOLERATIONS}", errors, options)


def _seccomp(profile: str, path: str) -> list[FieldError]:
    if profile in ("unconfined", *_SECCOMP_RUNTIME):
        return []
    if profile.startswith("localhost/"):
        return validate_local_descending_path(profile.removeprefix("localhost/"), path)
    return [invalid(path, profile, "must be a valid seccomp profile")]


def _app_armor(key: str, profile: str, names: set[str], path: str, errors: list[FieldError]) -> None:
    container = key.removeprefix(APP_ARMOR)
    if container not in names:
        errors.append(invalid(f"{path}[{key}]", container, "container not found"))
    if profile not in ("", "runtime/default", "unconfined") and not profile.startswith("localhost/"):
        text = f"invalid AppArmor profile name: {go_quote(profile)}"
        errors.append(invalid(f"{path}[{key}]", profile, text))


def validate_annotations_match_fields(
    annotations: dict[str, str], spec: JsonObject, path: str, errors: list[FieldError]
) -> None:
    """A seccomp or AppArmor annotation must not contradict the field that has replaced it."""
    if not any(key.startswith(_PROFILES) for key in annotations):
        return
    pod_context = spec.get("securityContext") or {}
    if SECCOMP_POD in annotations and "seccompProfile" in pod_context:
        at = f"{path}.securityContext.seccompProfile"
        _matches(annotations[SECCOMP_POD], pod_context["seccompProfile"], at, "seccomp", errors)
    for container, at in containers_with_path(spec, path):
        profile = (container.get("securityContext") or {}).get("seccompProfile")
        value = annotations.get(f"{SECCOMP_CONTAINER}{container.get('name', '')}")
        if profile is not None and value is not None:
            _matches(value, profile, f"{at}.securityContext.seccompProfile", "seccomp", errors)
    if (spec.get("os") or {}).get("name") == "windows":
        return
    for container, at in containers_with_path(spec, path):
        profile = (container.get("securityContext") or {}).get("appArmorProfile") or pod_context.get("appArmorProfile")
        value = annotations.get(f"{APP_ARMOR}{container.get('name', '')}")
        if profile is not None and value is not None:
            _matches(value, profile, f"{at}.securityContext.appArmorProfile", "apparmor", errors)


def _matches(value: str, profile: JsonObject, path: str, kind: str, errors: list[FieldError]) -> None:
    expected = {"Unconfined": ("unconfined",), "RuntimeDefault": _SECCOMP_RUNTIME[: 2 if kind == "seccomp" else 1]}
    of = profile.get("type", "")
    if of in expected:
        if value not in expected[of]:
            errors.append(forbidden(f"{path}.type", f"{kind} type in annotation and field must match"))
    elif of == "Localhost":
        if not value.startswith("localhost/"):
            errors.append(forbidden(f"{path}.type", f"{kind} type in annotation and field must match"))
        elif value.removeprefix("localhost/") != profile.get("localhostProfile"):
            errors.append(forbidden(f"{path}.localhostProfile", f"{kind} profile in annotation and field must match"))


def validate_pod_annotations_update(
    new: dict[str, str], old: dict[str, str], path: str, errors: list[FieldError]
) -> None:
    """An update may not change, add or remove AppArmor and mirror pod annotations."""
    for key, value in old.items():
        if new.get(key) == value:
            continue
        if key.startswith(APP_ARMOR):
            errors.append(forbidden(f"{path}[{key}]", "may not remove or update AppArmor annotations"))
        if key == MIRROR_ANNOTATION:
            errors.append(forbidden(f"{path}[{key}]", "may not remove or update mirror pod annotation"))
    for key in new:
        if key in old:
            continue
        if key.startswith(APP_ARMOR):
            errors.append(forbidden(f"{path}[{key}]", "may not add AppArmor annotations"))
        if key == MIRROR_ANNOTATION:
            errors.append(forbidden(f"{path}[{key}]", "may not add mirror pod annotation"))
