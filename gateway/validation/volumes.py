"""The volumes of a pod: names, one source for each volume, and sources with rules about the pod."""

from __future__ import annotations

from typing import Any

from gateway.jsontypes import JsonObject
from gateway.validation.claim_spec import validate_claim_template
from gateway.validation.container import validate_pull_policy
from gateway.validation.field import FieldError, duplicate, forbidden, invalid, required
from gateway.validation.names import byte_length, is_dns1123_label, is_dns1123_subdomain
from gateway.validation.pod_options import PodOptions
from gateway.validation.projected_volumes import validate_projected
from gateway.validation.quantities import is_negative
from gateway.validation.volume_sources import AFTER_PROJECTED, SOURCES

_MANY = "may not specify more than 1 volume type"
_BY_NAME = {entry[0]: entry for entry in (*SOURCES, *AFTER_PROJECTED)}
_ORDER = {
    key: i
    for i, key in enumerate(
        ["emptyDir", *(e[0] for e in SOURCES), "projected", *(e[0] for e in AFTER_PROJECTED), "ephemeral", "image"]
    )
}


def validate_volumes(
    volumes: list[JsonObject], pod_name: str, path: str, errors: list[FieldError], options: PodOptions
) -> dict[str, JsonObject]:
    """Adds errors, and returns the valid volumes by name. `pod_name` is "" for templates and without a name so far."""
    valid: dict[str, JsonObject] = {}
    created = {f"{pod_name}-{v.get('name', '')}" for v in volumes if "ephemeral" in v} if pod_name else set()
    for i, volume in enumerate(volumes):
        at, name, found = f"{path}[{i}]", volume.get("name", ""), list[FieldError]()
        _source(volume, name, pod_name, at, found, options)
        if not name:
            found.append(required(f"{at}.name"))
        elif messages := is_dns1123_label(name):
            found += [invalid(f"{at}.name", name, message) for message in messages]
        if name in valid:
            found.append(duplicate(f"{at}.name", name))
        if found:
            errors += found
        else:
            valid[name] = volume
        claim = volume.get("persistentVolumeClaim")
        if created and claim is not None and claim.get("claimName", "") in created:
            text = "must not reference a PVC that gets created for an ephemeral volume"
            errors.append(invalid(f"{at}.persistentVolumeClaim.claimName", claim.get("claimName", ""), text))
    return valid


def _source(
    volume: JsonObject, name: str, pod_name: str, path: str, errors: list[FieldError], options: PodOptions
) -> None:
    sources = [key for key in volume if key in _ORDER]
    if len(sources) > 1:
        sources.sort(key=_ORDER.__getitem__)
    for i, key in enumerate(sources):
        source, entry = volume[key], _BY_NAME.get(key)
        if i > 0:
            errors.append(forbidden(f"{path}.{entry[1] if entry else key}", _MANY))
        elif entry is not None:
            entry[3](source, f"{path}.{entry[2]}", errors)
        else:
            _contextual(key, source, name, pod_name, path, errors, options)
        if key == "iscsi" and "initiatorName" in source:
            _initiator(source, name, path, errors)
    if not sources:
        errors.append(required(path, "must specify a volume type"))


def _initiator(source: JsonObject, name: str, path: str, errors: list[FieldError]) -> None:
    if byte_length(f"{name}:{source.get('targetPortal', '')}") > 64:
        text = "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if "
        errors.append(invalid(f"{path}.name", name, f"{text}iscsi.initiatorName is specified."))


def _contextual(
    key: str, source: Any, name: str, pod_name: str, path: str, errors: list[FieldError], options: PodOptions
) -> None:
    if key == "emptyDir":
        if is_negative(source.get("sizeLimit")):
            errors.append(forbidden(f"{path}.emptyDir.sizeLimit", "SizeLimit field must be a valid resource quantity"))
        mode = source.get("mode")
        if mode is not None and not 0 <= mode <= 0o1777:
            text = "must be a number between 0 and 01777 (octal), both inclusive"
            errors.append(invalid(f"{path}.emptyDir.mode", mode, text))
    elif key == "projected":
        validate_projected(source, f"{path}.projected", errors, options)
    elif key == "image":
        if not source.get("reference") and not options.empty_image_reference:
            errors.append(required(f"{path}.image.reference"))
        validate_pull_policy(source.get("pullPolicy", ""), f"{path}.image.pullPolicy", errors)
    else:
        _ephemeral(source, name, pod_name, path, errors)


def _ephemeral(source: JsonObject, name: str, pod_name: str, path: str, errors: list[FieldError]) -> None:
    template = source.get("volumeClaimTemplate")
    if template is None:
        errors.append(required(f"{path}.ephemeral.volumeClaimTemplate"))
    else:
        validate_claim_template(template, f"{path}.ephemeral.volumeClaimTemplate", errors)
    if pod_name and name:
        claim = f"{pod_name}-{name}"
        for message in is_dns1123_subdomain(claim):
            errors.append(invalid(f"{path}.name", name, f'PVC name "{claim}": {message}'))
