"""Projected volumes (page "Projected Volumes")."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.validation.field import FieldError, forbidden, invalid, required
from gateway.validation.local_paths import validate_local_non_reserved_path
from gateway.validation.pod_options import PodOptions
from gateway.validation.volume_sources import validate_downward_file, validate_key_to_path, validate_mode, validate_user

_SHORTEST_TOKEN, _LONGEST_TOKEN = 600, 1 << 32


def validate_projected(volume: JsonObject, path: str, errors: list[FieldError], options: PodOptions) -> None:
    validate_mode(volume, "defaultMode", path, errors)
    taken: set[str] = set()
    for i, source in enumerate(volume.get("sources") or ()):
        at, count = f"{path}.sources[{i}]", 0
        for key in ("secret", "configMap"):
            if key in source:
                count += 1
                _keys(source[key], f"{at}.{key}", path, errors, taken)
        if "downwardAPI" in source:
            count += 1
            for file in source["downwardAPI"].get("items") or ():
                validate_downward_file(file, f"{at}.downwardAPI", errors)
                take_path(file.get("path", ""), file.get("path", ""), path, errors, taken)
        if "serviceAccountToken" in source:
            count += 1
            _token(source["serviceAccountToken"], f"{at}.serviceAccountToken", path, errors, options)
        if "clusterTrustBundle" in source or "podCertificate" in source:
            from gateway.validation.projected_certificates import validate_certificates

            count += validate_certificates(source, at, path, errors, taken)
        if count > 1:
            errors.append(forbidden(at, "may not specify more than 1 volume type per source"))


def _keys(source: JsonObject, path: str, volume_path: str, errors: list[FieldError], taken: set[str]) -> None:
    name = source.get("name", "")
    if not name:
        errors.append(required(f"{path}.name"))
    for i, item in enumerate(source.get("items") or ()):
        validate_key_to_path(item, f"{path}.items[{i}]", errors)
        take_path(item.get("path", ""), name, volume_path, errors, taken)


def take_path(target: str, shown: str, path: str, errors: list[FieldError], taken: set[str]) -> None:
    if not target:
        return
    if target in taken:
        errors.append(invalid(path, shown, "conflicting duplicate paths"))
    taken.add(target)


def _token(token: JsonObject, path: str, volume_path: str, errors: list[FieldError], options: PodOptions) -> None:
    seconds, target = token.get("expirationSeconds", 0), token.get("path", "")
    if seconds < _SHORTEST_TOKEN:
        errors.append(invalid(f"{path}.expirationSeconds", seconds, "may not specify a duration less than 10 minutes"))
    if seconds > _LONGEST_TOKEN:
        text = "may not specify a duration larger than 2^32 seconds"
        errors.append(invalid(f"{path}.expirationSeconds", seconds, text))
    if not target:
        errors.append(required(f"{volume_path}.path"))
    elif not options.any_token_path:
        errors += validate_local_non_reserved_path(target, f"{volume_path}.path")
    validate_user(token, "user", path, errors)
