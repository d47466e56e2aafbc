"""Rules that kinds of resource.k8s.io share: names, sizes of lists, selectors, configuration (KEP-4381, KEP-4817)."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable
from functools import partial
from typing import Any

from gateway.jsontypes import JsonObject, dumps_plain
from gateway.validation.checks import same_text
from gateway.validation.expressions import CheckSelector
from gateway.validation.field import (
    FieldError,
    duplicate,
    first_places,
    invalid,
    not_supported,
    required,
    reworded,
    too_long,
    too_many,
)
from gateway.validation.formats import is_c_identifier, validate_dns1123_label, validate_dns1123_subdomain
from gateway.validation.labels import validate_label_name
from gateway.validation.names import byte_length, is_label_value
from gateway.validation.volume_sources import validate_csi_driver_name

MAX_REQUESTS, MAX_CONSTRAINTS, MAX_CONFIG, MAX_SELECTORS, MAX_CHOICES, MAX_CONDITIONS = 32, 32, 32, 32, 8, 4
MAX_EXPRESSION, MAX_PARAMETERS, MAX_POOL, MAX_IDENTIFIER = 10 * 1024, 10 * 1024, 253, 32
EFFECTS, OPERATORS = ("NoExecute", "NoSchedule", "None"), ("Equal", "Exists")
_NOT_A_REQUEST = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
_is_uuid = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}").fullmatch

validate_driver_name = validate_csi_driver_name  # device drivers have the name rule of CSI drivers

Rule = Callable[[Any, str], list[FieldError]]
RequestNames = dict[str, frozenset[str]]


def validate_list(items: list[Any], most: int, path: str, rule: Rule) -> list[FieldError]:
    """The errors of `rule` for each item. For a list of more than `most` items, only the error of its length; -1 is no
    limit.
    """
    if 0 <= most < len(items):
        return [too_many(path, len(items), most)]
    return [error for i, item in enumerate(items) for error in rule(item, f"{path}[{i}]")]


def validate_set(
    items: list[Any], most: int, path: str, rule: Rule, key: Callable[[Any], Hashable] = lambda item: item
) -> list[FieldError]:
    """As `validate_list`, and no two items may have the same key."""
    found = validate_list(items, most, path, rule)
    if 0 <= most < len(items):
        return found
    return found + duplicates(map(key, items), path)


def duplicates(keys: Iterable[Hashable], path: str) -> list[FieldError]:
    found, seen = list[FieldError](), set[Hashable]()
    for i, key in enumerate(keys):
        if key in seen:
            found.append(duplicate(f"{path}[{i}]", key))
        seen.add(key)
    return found


def name_of(item: JsonObject) -> str:
    name: str = item.get("name", "")
    return name


def request_names(devices: JsonObject) -> RequestNames:
    """Maps the name of each request of a claim to the names of its subrequests."""
    requests = devices.get("requests") or ()
    return {name_of(request): frozenset(map(name_of, request.get("firstAvailable") or ())) for request in requests}


def request_reference(names: RequestNames) -> Rule:
    """Returns the rule for references to requests ("request" or "request/subrequest")."""

    def rule(reference: str, path: str) -> list[FieldError]:
        segments = reference.split("/")
        if len(segments) > 2:
            return [invalid(path, reference, _NOT_A_REQUEST)]
        found = [error for segment in segments for error in validate_dns1123_label(path, segment)]
        subrequests = names.get(segments[0])
        if subrequests is None or (len(segments) == 2 and segments[1] not in subrequests):
            found.append(invalid(path, reference, _NOT_A_REQUEST))
        return found

    return rule


def validate_claim_devices(devices: JsonObject, path: str, check: CheckSelector) -> list[FieldError]:
    """The errors of a claim's requests, constraints and configuration. `check` checks expressions of selectors."""
    request = partial(_request, partial(validate_selector, check))
    reference = request_reference(request_names(devices))

    def constraint(item: JsonObject, at: str) -> list[FieldError]:
        found = validate_set(item.get("requests") or [], MAX_REQUESTS, f"{at}.requests", reference)
        for key in ("matchAttribute", "distinctAttribute"):
            if item.get(key) is not None:
                return found + validate_fully_qualified_attribute(item[key], f"{at}.{key}")
        text = 'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set'
        earlier = required(f"{at}.matchAttribute")
        return [*found, reworded("DRAConsumableCapacity", earlier, partial(required, at, text))]

    def config(item: JsonObject, at: str) -> list[FieldError]:
        found = validate_set(item.get("requests") or [], MAX_REQUESTS, f"{at}.requests", reference)
        return found + validate_configuration(item, at)

    found = validate_set(devices.get("requests") or [], MAX_REQUESTS, f"{path}.requests", request, name_of)
    found += validate_list(devices.get("constraints") or [], MAX_CONSTRAINTS, f"{path}.constraints", constraint)
    return found + validate_list(devices.get("config") or [], MAX_CONFIG, f"{path}.config", config)


def _request(selector: Rule, request: JsonObject, path: str) -> list[FieldError]:
    found = validate_dns1123_label(f"{path}.name", name_of(request))
    exactly, choices = request.get("exactly"), request.get("firstAvailable")
    one_only = "exactly one of `exactly` or `firstAvailable` is required"
    if choices and exactly is not None:
        found.append(invalid(path, None, f"{one_only}, but multiple fields are set"))
    elif choices:
        found += validate_set(choices, MAX_CHOICES, f"{path}.firstAvailable", partial(_subrequest, selector), name_of)
    elif exactly is not None:
        found += _exact(selector, exactly, f"{path}.exactly")
    else:
        found.append(required(path, one_only))
    return found


def _subrequest(selector: Rule, request: JsonObject, path: str) -> list[FieldError]:
    return validate_dns1123_label(f"{path}.name", name_of(request)) + _exact(selector, request, path)


def _exact(selector: Rule, request: JsonObject, path: str) -> list[FieldError]:
    name, mode, count = request.get("deviceClassName"), request.get("allocationMode", ""), request.get("count", 0)
    at = f"{path}.deviceClassName"
    found = validate_dns1123_subdomain(at, name) if name else [required(at)]
    found += validate_list(request.get("selectors") or [], MAX_SELECTORS, f"{path}.selectors", selector)
    if mode == "All" and count:
        found.append(invalid(f"{path}.count", count, "must not be specified when allocationMode is 'All'"))
    elif mode == "ExactCount" and count <= 0:
        found.append(invalid(f"{path}.count", count, "must be greater than zero"))
    elif mode not in ("All", "ExactCount"):
        found.append(not_supported(f"{path}.allocationMode", mode, ("All", "ExactCount")))
    return found + validate_list(request.get("tolerations") or [], -1, f"{path}.tolerations", validate_toleration)


def validate_toleration(toleration: JsonObject, path: str) -> list[FieldError]:
    key, operator, value, effect = (toleration.get(name, "") for name in ("key", "operator", "value", "effect"))
    found = validate_label_name(key, f"{path}.key") if key else []
    if operator == "Exists":
        if value:
            found.append(invalid(f"{path}.value", value, "must be empty for operator `Exists`"))
    elif operator == "Equal":
        found += [invalid(f"{path}.value", value, message) for message in is_label_value(value)]
    elif operator:
        found.append(not_supported(f"{path}.operator", operator, OPERATORS))
    else:
        found.append(required(f"{path}.operator"))
    if effect and effect not in EFFECTS:
        found.append(not_supported(f"{path}.effect", effect, EFFECTS))
    return found


def validate_selector(check: CheckSelector | None, selector: JsonObject, path: str) -> list[FieldError]:
    """The errors of a selector. `check` checks its expression; None if the expression is stored."""
    cel, at = selector.get("cel"), f"{path}.cel.expression"
    if cel is None:
        return [required(f"{path}.cel")]
    if check is None:
        return []
    expression = cel.get("expression", "")
    if byte_length(expression) > MAX_EXPRESSION:
        return [too_long(at, MAX_EXPRESSION)]
    return check(expression, at)


def validate_configuration(config: JsonObject, path: str, *, stored: bool = False) -> list[FieldError]:
    """The errors of a configuration. The limit of its size does not hold for a stored one."""
    opaque = config.get("opaque")
    if opaque is None:
        return [required(f"{path}.opaque")]
    found = validate_driver_name(opaque.get("driver", ""), f"{path}.opaque.driver")
    return found + validate_raw(opaque.get("parameters"), f"{path}.opaque.parameters", stored=stored)


def validate_raw(value: Any, path: str, *, stored: bool = False) -> list[FieldError]:
    """The value must be a JSON object of at most MAX_PARAMETERS bytes; a `stored` one may be larger."""
    if value is None:
        return [required(path)]
    if not stored and len(dumps_plain(value)) > MAX_PARAMETERS:
        return [too_long(path, MAX_PARAMETERS)]
    return [] if isinstance(value, dict) else [invalid(path, "<value omitted>", "must be a valid JSON object")]


def validate_pool_name(name: str, path: str) -> list[FieldError]:
    if not name:
        return [required(path)]
    found = [too_long(path, MAX_POOL)] if byte_length(name) > MAX_POOL else []
    return found + [error for part in name.split("/") for error in validate_dns1123_subdomain(path, part)]


def _identifier(name: str, path: str) -> list[FieldError]:
    found = [too_long(path, MAX_IDENTIFIER)] if byte_length(name) > MAX_IDENTIFIER else []
    return found + [invalid(path, name, message) for message in is_c_identifier(name)]


def validate_attribute_name(name: str, path: str) -> list[FieldError]:
    """The name must be an identifier, maybe with a driver's domain and a slash before it."""
    parts = name.split("/")
    if len(parts) == 1:
        return _identifier(name, path)
    if len(parts) > 2:
        return []
    domain, identifier = parts
    found = validate_driver_name(domain, path) if domain else [invalid(path, "", "the domain must not be empty")]
    return found + (_identifier(identifier, path) if identifier else [invalid(path, "", "the name must not be empty")])


def validate_fully_qualified_attribute(name: str, path: str) -> list[FieldError]:
    found = validate_attribute_name(name, path)
    if "/" not in name:
        message = "a fully qualified name must be a domain and a name separated by a slash"
        found.append(invalid(path, name, message))
    return found


def validate_uid(uid: str, path: str) -> list[FieldError]:
    if _is_uuid(uid):
        return []
    if _is_uuid(uid.lower()):
        message = (
            "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase "
            "hexadecimal characters"
        )
        return [invalid(path, uid, message)]
    problem = f"invalid UUID length: {byte_length(uid)}" if byte_length(uid) != 36 else "invalid UUID format"
    return [invalid(path, uid, f"error validating uid: {problem}")]


def validate_binding_conditions(device: JsonObject, path: str) -> list[FieldError]:
    keys = ("bindingConditions", "bindingFailureConditions")
    wait, fail = (device.get(key) or [] for key in keys)
    found: list[FieldError] = []
    for key, names in zip(keys, (wait, fail), strict=True):
        found += validate_list(names, MAX_CONDITIONS, f"{path}.{key}", validate_label_name)
    found += duplicates(wait, f"{path}.bindingConditions")
    first, waited = first_places(fail), set(wait)
    for i, name in enumerate(fail):
        at = f"{path}.bindingFailureConditions[{i}]"
        if first[name] < i:
            found.append(duplicate(at, name))
        if name in waited:
            found.append(invalid(at, name, "bindingFailureConditions must not overlap with bindingConditions"))
    for key, other, missing in ((keys[0], keys[1], not wait and fail), (keys[1], keys[0], not fail and wait)):
        if missing:
            found.append(invalid(f"{path}.{key}", device.get(key), f"{key} are required to use {other}"))
    return found


def validate_taint(taint: JsonObject, path: str) -> list[FieldError]:
    value, effect = taint.get("value", ""), taint.get("effect", "")
    found = validate_label_name(taint.get("key", ""), f"{path}.key")
    found += [invalid(f"{path}.value", value, message) for message in is_label_value(value)]
    if not effect:
        found.append(required(f"{path}.effect"))
    elif effect not in EFFECTS:
        found.append(not_supported(f"{path}.effect", effect, EFFECTS))
    return found


def validate_skipped(holder: JsonObject, path: str) -> list[FieldError]:
    """A device whose preparation on the node is skipped must skip its unpreparation, too."""
    skipped = holder.get("skipNodeOperations") or []
    if "NodePrepareResources" not in skipped or not {"NodeUnprepareResources", "*"}.isdisjoint(skipped):
        return []
    text = "NodePrepareResources cannot be skipped unless NodeUnprepareResources is also skipped"
    return [invalid(f"{path}.skipNodeOperations", skipped, text)]


def same_parameters(one: JsonObject, other: JsonObject) -> bool:
    """Whether the opaque parameters of two `devices`, or of two specs of device classes, have the same text."""
    before, after = ([_opaque(each) for each in spec.get("config") or ()] for spec in (one, other))
    return same_text(before, after)


def _opaque(configuration: JsonObject) -> Any:
    return (configuration.get("opaque") or {}).get("parameters")
