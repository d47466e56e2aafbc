"""Nodes (page "Nodes"; "Taints and Tolerations")."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from gateway.jsontypes import JsonObject
from gateway.kinds.strategies.status import keep_spec, keep_status
from gateway.kinds.strategy import Strategy, on_update
from gateway.kinds.write_context import WriteContext
from gateway.validation.addresses import cidr_warnings, parse_cidr, validate_cidr_legacy
from gateway.validation.avoided_pods import validate_avoided_pods
from gateway.validation.field import (
    FieldError,
    duplicate,
    forbidden,
    go_quote,
    internal,
    invalid,
    not_supported,
    required,
    reworded,
)
from gateway.validation.formats import is_config_map_key
from gateway.validation.internal_form import go_json, internal_json
from gateway.validation.labels import validate_label_name
from gateway.validation.names import (
    byte_length,
    is_dns1123_label,
    is_dns1123_subdomain,
    is_label_value,
    name_is_dns_subdomain,
)
from gateway.validation.objectmeta import recheck_object_meta_update, validate_object_meta
from gateway.validation.quantities import validate_quantity
from gateway.validation.scheduling import TAINT_EFFECTS

_is_feature = re.compile(r"[A-Z][a-zA-Z0-9]*(/[a-zA-Z][a-zA-Z0-9]*)*").fullmatch
_FEATURE_FORMAT = (
    "must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or "
    "MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"
)
_POD_CIDR = 'node updates may not change podCIDR except from "" to valid'
_ONE_REFERENCE = "exactly one reference subfield must be non-nil"


def _prepare_for_create(obj: JsonObject, context: WriteContext) -> None:
    (obj.get("spec") or {}).pop("configSource", None)
    (obj.get("status") or {}).pop("config", None)


def _prepare_for_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> None:
    keep_status(obj, old, context)
    if "configSource" not in (old.get("spec") or {}):
        (obj.get("spec") or {}).pop("configSource", None)


def _prepare_status(obj: JsonObject, old: JsonObject, context: WriteContext) -> None:
    keep_spec(obj, old, context)
    if "config" not in (old.get("status") or {}):
        (obj.get("status") or {}).pop("config", None)


def _taints(taints: list[JsonObject], errors: list[FieldError]) -> None:
    seen: set[tuple[str, str]] = set()
    for i, taint in enumerate(taints):
        at = f"metadata.taints[{i}]"
        key, value, effect = (taint.get(name, "") for name in ("key", "value", "effect"))
        errors += validate_label_name(key, f"{at}.key")
        if messages := is_label_value(value):
            errors.append(invalid(f"{at}.value", value, ";".join(messages)))
        if effect not in TAINT_EFFECTS:
            place = f"{at}.effect"
            errors.append(not_supported(place, effect, TAINT_EFFECTS) if effect else required(place))
        if (effect, key) in seen:
            text = "taints must be unique by key and effect pair"
            errors.append(duplicate(at, internal_json("Taint", taint), text))
        seen.add((effect, key))


def _resources(status: JsonObject, errors: list[FieldError]) -> None:
    for kind in ("capacity", "allocatable"):
        for name, quantity in (status.get(kind) or {}).items():
            validate_quantity(name, quantity, f"status.{kind}.{name}", errors)


def _declared_features(names: list[str], errors: list[FieldError]) -> None:
    path = "status.declaredFeatures"
    for i, name in enumerate(names):
        if byte_length(name) > 253:
            text = f"invalid feature name {go_quote(name)}: must be no more than 253 characters"
            errors.append(invalid(f"{path}[{i}]", name, text))
        elif not _is_feature(name):
            text = f"invalid feature name {go_quote(name)}: {_FEATURE_FORMAT}"
            errors.append(invalid(f"{path}[{i}]", name, text))
        if i + 1 < len(names):
            following, at = names[i + 1], f"{path}[{i + 1}]"
            if name == following:
                errors.append(duplicate(at, following))
            elif name.encode() > following.encode():
                errors.append(invalid(at, following, "list must be sorted alphabetically"))


def _pod_cidrs(cidrs: list[str], errors: list[FieldError]) -> None:
    for i, cidr in enumerate(cidrs):
        errors += validate_cidr_legacy(f"spec.podCIDRs[{i}]", cidr)
    if len(cidrs) < 2:
        return
    parsed = [parse_cidr(cidr) for cidr in cidrs]
    if None in parsed:
        bad = cidrs[parsed.index(None)]
        cause = f"invalid CIDR[{parsed.index(None)}]: <nil> (invalid CIDR address: {bad})"
        text = f"invalid PodCIDRs. failed to check with dual stack with error:{cause}"
        errors.append(internal("spec.podCIDRs", text))
    families = {pair[0].version for pair in parsed if pair is not None}
    if None in parsed or len(families) < 2 or len(cidrs) > 2:
        text = "may specify no more than one CIDR for each IP family"
        errors.append(invalid("spec.podCIDRs", go_json(cidrs), text))


def _cidrs(spec: JsonObject) -> list[str]:
    cidrs: list[str] = spec.get("podCIDRs") or ([spec["podCIDR"]] if spec.get("podCIDR") else [])
    return cidrs


def _validate(obj: JsonObject, context: WriteContext) -> list[FieldError]:
    errors = validate_avoided_pods(obj["metadata"], "metadata")
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    _taints(spec.get("taints") or [], errors)
    _resources(status, errors)
    capacity = ((status.get("nodeInfo") or {}).get("swap") or {}).get("capacity")
    if capacity is not None and capacity <= 0:
        errors.append(invalid("metadata.nodeSwapStatus.capacity", capacity, "must be greater than zero"))
    _declared_features(status.get("declaredFeatures") or [], errors)
    _pod_cidrs(_cidrs(spec), errors)
    return errors


def _changes(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    """The checks of every update, including those of the status."""
    errors = validate_avoided_pods(obj["metadata"], "metadata")
    spec, before, status = obj.get("spec") or {}, old.get("spec") or {}, obj.get("status") or {}
    _resources(status, errors)
    _declared_features(status.get("declaredFeatures") or [], errors)
    seen: set[frozenset[tuple[str, str]]] = set()
    for i, address in enumerate(status.get("addresses") or ()):
        if (members := frozenset(address.items())) in seen:
            errors.append(duplicate(f"status.addresses[{i}]", internal_json("NodeAddress", address)))
        seen.add(members)
    new_cidrs, old_cidrs = _cidrs(spec), _cidrs(before)
    if old_cidrs:
        changed = 1 if len(new_cidrs) != len(old_cidrs) else sum(map(str.__ne__, old_cidrs, new_cidrs))
        errors += [forbidden("spec.podCIDRs", _POD_CIDR)] * changed
    if before.get("providerID") and before["providerID"] != spec.get("providerID"):
        text = 'node updates may not change providerID except from "" to valid'
        done = "modified" if spec.get("providerID") else "cleared"
        later = partial(invalid, "spec.providerID", None, f"field cannot be {done} once set")
        errors.append(reworded("ProviderIDSetOnce", forbidden("spec.providerID", text), later))
    if "configSource" in spec:
        _config_source(spec["configSource"], "spec.configSource", errors, status=False)
    for key in ("assigned", "active", "lastKnownGood"):
        source = (status.get("config") or {}).get(key)
        if source is not None:
            _config_source(source, f"status.config.{key}", errors, status=True)
    _taints(spec.get("taints") or [], errors)
    if spec.get("externalID") != before.get("externalID"):
        errors.append(forbidden("spec.externalID", "may not be updated"))
    return errors


def _config_source(source: JsonObject, path: str, errors: list[FieldError], *, status: bool) -> None:
    reference = source.get("configMap")
    if reference is None:
        errors.append(invalid(path, internal_json("NodeConfigSource", source), _ONE_REFERENCE))
        return
    at = f"{path}.configMap"
    for key in ("uid", "resourceVersion"):
        if status and not reference.get(key):
            errors.append(required(f"{at}.{key}"))
        elif not status and reference.get(key):
            errors.append(forbidden(f"{at}.{key}", f"{key} must not be set in spec"))
    checks = {"namespace": is_dns1123_label, "name": is_dns1123_subdomain, "kubeletConfigKey": is_config_map_key}
    for key, check in checks.items():
        if value := reference.get(key):
            errors += [invalid(f"{at}.{key}", value, message) for message in check(value)]
        else:
            errors.append(required(f"{at}.{key}"))


def _validate_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    errors = validate_object_meta(obj["metadata"], False, name_is_dns_subdomain)
    errors += _validate(obj, context) + recheck_object_meta_update(obj["metadata"], old["metadata"])
    return errors + _changes(obj, old, context)


def _warnings(obj: JsonObject, context: WriteContext) -> Iterator[str]:
    spec = obj.get("spec") or {}
    if "configSource" in spec:
        yield "spec.configSource: the feature is removed"
    if spec.get("externalID"):
        yield "spec.externalID: this field is deprecated, and is unused by Kubernetes"
    for i, cidr in enumerate(_cidrs(spec)):
        yield from cidr_warnings(f"spec.podCIDRs[{i}]", cidr)


STRATEGIES = {
    "": Strategy(
        prepare_for_create=_prepare_for_create,
        prepare_for_update=_prepare_for_update,
        validate=_validate,
        validate_update=_validate_update,
        warnings_on_create=_warnings,
        warnings_on_update=on_update(_warnings),
        rechecks_metadata=False,
        reset_fields=(("status",),),
    ),
    "status": Strategy(prepare_for_update=_prepare_status, validate_update=_changes, reset_fields=(("spec",),)),
}
