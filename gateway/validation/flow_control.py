"""FlowSchemas and PriorityLevelConfigurations (page "API Priority and Fairness")."""

from __future__ import annotations

from functools import partial
from math import ceil, log2
from typing import Any

from gateway.jsontypes import JsonObject
from gateway.validation.checks import each
from gateway.validation.field import FieldError, duplicate, forbidden, invalid, not_supported, required, reworded
from gateway.validation.go_structs import verbatim
from gateway.validation.names import is_dns1123_label, is_dns1123_subdomain

MAX_PRECEDENCE, MAX_QUEUES, MAX_HASH_BITS = 10000, 10_000_000, 60
VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch")
METHODS, SUBJECTS = ("ByNamespace", "ByUser"), ("Group", "ServiceAccount", "User")
_PAYLOADS = {"ServiceAccount": "serviceAccount", "User": "user", "Group": "group"}
_NAMESPACES = "each member of this list must be '*' or a DNS-1123 label; "

_EVERYTHING: JsonObject = {
    "resourceRules": [
        {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "clusterScope": True, "namespaces": ["*"]}
    ],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
}


def _groups(*names: str) -> list[JsonObject]:
    return [{"kind": "Group", "group": {"name": name}} for name in names]


# the specs of mandatory objects, by name; they cannot be changed
MANDATORY_SCHEMAS: dict[str, JsonObject] = {
    "exempt": {
        "priorityLevelConfiguration": {"name": "exempt"},
        "matchingPrecedence": 1,
        "rules": [{"subjects": _groups("system:masters"), **_EVERYTHING}],
    },
    "catch-all": {
        "priorityLevelConfiguration": {"name": "catch-all"},
        "matchingPrecedence": 10000,
        "distinguisherMethod": {"type": "ByUser"},
        "rules": [{"subjects": _groups("system:unauthenticated", "system:authenticated"), **_EVERYTHING}],
    },
}
MANDATORY_LEVELS: dict[str, JsonObject] = {
    "exempt": {"type": "Exempt"},
    "catch-all": {
        "type": "Limited",
        "limited": {"nominalConcurrencyShares": 5, "limitResponse": {"type": "Reject"}, "lendablePercent": 0},
    },
}


def validate_flow_schema(schema: JsonObject) -> list[FieldError]:
    spec, name = schema.get("spec", {}), schema["metadata"].get("name", "")
    precedence, path, found = spec.get("matchingPrecedence", 0), "spec.matchingPrecedence", list[FieldError]()
    if precedence <= 0:
        found.append(invalid(path, precedence, "must be a positive value"))
    if precedence > MAX_PRECEDENCE:
        found.append(invalid(path, precedence, f"must not be greater than {MAX_PRECEDENCE}"))
    if precedence == 1 and name != "exempt":
        found.append(invalid(path, precedence, "only the schema named 'exempt' may have matchingPrecedence 1"))
    method = spec.get("distinguisherMethod")
    if method is not None and method.get("type", "") not in METHODS:
        shown = verbatim("io.k8s.api.flowcontrol.v1.FlowDistinguisherMethod", method)
        found.append(not_supported("spec.distinguisherMethod.type", shown, METHODS))
    level = spec.get("priorityLevelConfiguration", {}).get("name", "")
    path = "spec.priorityLevelConfiguration.name"
    found += (
        each(path, level, is_dns1123_subdomain(level)) if level else [required(path, "must reference a priority level")]
    )
    for i, rule in enumerate(spec.get("rules") or ()):
        found += _rule(rule, f"spec.rules[{i}]")
    if name in MANDATORY_SCHEMAS and spec != MANDATORY_SCHEMAS[name]:
        shown = verbatim("io.k8s.api.flowcontrol.v1.FlowSchemaSpec", spec)
        found.append(invalid("spec", shown, f"spec of '{name}' must equal the fixed value"))
    return found + validate_conditions(schema)


def validate_conditions(obj: JsonObject) -> list[FieldError]:
    """The conditions of a FlowSchema or PriorityLevelConfiguration must have different types that are not empty."""
    found, seen = list[FieldError](), set[str]()
    for i, condition in enumerate((obj.get("status") or {}).get("conditions") or ()):
        path, kind = f"status.conditions[{i}].type", condition.get("type", "")
        if kind in seen:
            found.append(duplicate(path, kind))
        seen.add(kind)
        if not kind:
            found.append(required(path))
    return found


def _rule(rule: JsonObject, path: str) -> list[FieldError]:
    subjects, found = rule.get("subjects") or [], list[FieldError]()
    for i, subject in enumerate(subjects):
        found += _subject(subject, f"{path}.subjects[{i}]")
    if not subjects:
        found.append(required(f"{path}.subjects", "subjects must contain at least one value"))
    if not rule.get("resourceRules") and not rule.get("nonResourceRules"):
        found.append(required(path, "at least one of resourceRules and nonResourceRules has to be non-empty"))
    for i, resources in enumerate(rule.get("resourceRules") or ()):
        found += _resource_rule(resources, f"{path}.resourceRules[{i}]")
    for i, urls in enumerate(rule.get("nonResourceRules") or ()):
        found += _url_rule(urls, f"{path}.nonResourceRules[{i}]")
    return found


def _subject(subject: JsonObject, path: str) -> list[FieldError]:
    kind = subject.get("kind", "")
    if kind not in _PAYLOADS:
        return [not_supported(f"{path}.kind", kind, SUBJECTS)]
    key = _PAYLOADS[kind]
    found = _subject_name(subject.get(key), f"{path}.{key}", kind)
    order = ("serviceAccount", "user", "group")
    others = [name for name in order if name != key and name in subject]
    kinds = {payload: name for name, payload in _PAYLOADS.items()}
    message = "{0} is forbidden when subject kind is not '{1}'"
    return found + [forbidden(f"{path}.{name}", message.format(name, kinds[name])) for name in others]


def _subject_name(payload: JsonObject | None, path: str, kind: str) -> list[FieldError]:
    if payload is None:
        return [required(path, f"{_PAYLOADS[kind]} is required when subject kind is '{kind}'")]
    name, namespace = payload.get("name", ""), payload.get("namespace", "")
    found = [] if name else [required(f"{path}.name")]
    if kind != "ServiceAccount":
        return found
    if name and name != "*":
        found += each(f"{path}.name", name, is_dns1123_subdomain(name))
    if not namespace:
        return [*found, required(f"{path}.namespace", "must specify namespace for service account")]
    return found + each(f"{path}.namespace", namespace, is_dns1123_label(namespace))


def _listed(values: list[str], path: str, missing: str, others: str) -> list[FieldError]:
    """The list must not be empty, and "*" must be its only item."""
    if not values:
        return [required(path, missing)]
    if len(values) > 1 and "*" in values:
        return [invalid(path, values, f"if '*' is present, must not specify other {others}")]
    return []


def _verbs(rule: JsonObject, path: str) -> list[FieldError]:
    verbs: list[str] = rule.get("verbs") or []
    found = _listed(verbs, f"{path}.verbs", "verbs must contain at least one value", "verbs")
    if verbs and "*" not in verbs and not set(verbs) <= set(VERBS):
        found.append(not_supported(f"{path}.verbs", verbs, VERBS))
    return found


def _resource_rule(rule: JsonObject, path: str) -> list[FieldError]:
    found = _verbs(rule, path)
    message = "resource rules must supply at least one api group"
    found += _listed(rule.get("apiGroups") or [], f"{path}.apiGroups", message, "api groups")
    message = "resource rules must supply at least one resource"
    found += _listed(rule.get("resources") or [], f"{path}.resources", message, "resources")
    namespaces: list[str] = rule.get("namespaces") or []
    if not namespaces and rule.get("clusterScope"):
        return found
    message = "resource rules that are not cluster scoped must supply at least one namespace"
    found += _listed(namespaces, f"{path}.namespaces", message, "namespaces")
    if "*" not in namespaces:
        for i, namespace in enumerate(namespaces):
            messages = [_NAMESPACES + text for text in is_dns1123_label(namespace)]
            found += each(f"{path}.namespaces[{i}]", namespace, messages)
    return found


def _url_rule(rule: JsonObject, path: str) -> list[FieldError]:
    urls: list[str] = rule.get("nonResourceURLs") or []
    at = f"{path}.nonResourceURLs"
    found = _verbs(rule, path)
    found += _listed(urls, at, "nonResourceURLs must contain at least one value", "non-resource URLs")
    if "*" not in urls:
        found += [invalid(f"{at}[{i}]", url, text) for i, url in enumerate(urls) if (text := _url_problem(url))]
    return found


def _url_problem(url: str) -> str:
    if url == "/":
        return ""
    if not url:
        return "must not be empty"
    if not url.startswith("/"):
        return "must start with slash"
    if " " in url:
        return "must not contain white-space"
    if "//" in url:
        return "must not contain double slash"
    stars = url.count("*")
    return "wildcard can only do suffix matching" if stars > 1 or (stars and not url.endswith("/*")) else ""


def validate_priority_level(level: JsonObject) -> list[FieldError]:
    spec, name, found = level.get("spec", {}), level["metadata"].get("name", ""), list[FieldError]()
    kind, annotation = spec.get("type", ""), "flowcontrol.k8s.io/concurrency-shares-defaults-to-zero"
    if annotation in (level["metadata"].get("annotations") or {}):
        found.append(forbidden("metadata.annotations", f"annotation '{annotation}' is forbidden"))
    if (name == "exempt") != (kind == "Exempt"):
        found.append(invalid("spec.type", kind, "must be 'Exempt' if and only if `name` is 'exempt'"))
    limited, exempt = spec.get("limited"), spec.get("exempt")
    if kind == "Exempt":
        if limited is not None:
            found.append(forbidden("spec.limited", "must be nil if the type is not Limited"))
        found += _shares(exempt or {}, "spec.exempt")
    elif kind == "Limited":
        if exempt is not None:
            found.append(forbidden("spec.exempt", "must be nil if the type is Limited"))
        if limited is None:
            found.append(required("spec.limited", "must not be empty when type is Limited"))
        else:
            found += _limited(limited, "spec.limited")
    else:
        found += _type("spec.type", kind, ("Exempt", "Limited"))
    return found + _mandatory(name, spec) + validate_conditions(level)


def _type(path: str, kind: str, supported: tuple[str, ...]) -> list[FieldError]:
    """The error of a type that is missing, or not one of `supported`."""
    wrong = not_supported(path, kind, supported)
    return [wrong if kind else reworded("MissingValuesRequired", wrong, partial(required, path))]


def _mandatory(name: str, spec: JsonObject) -> list[FieldError]:
    wanted = MANDATORY_LEVELS.get(name)
    if wanted is None:
        return []
    shown = verbatim("io.k8s.api.flowcontrol.v1.PriorityLevelConfigurationSpec", spec)
    if name == "exempt":
        fixed = {key: value for key, value in spec.items() if key != "exempt"}
        message = f"spec of '{name}' except the 'spec.exempt' field must equal the fixed value"
        return [] if fixed == wanted else [invalid("spec", shown, message)]
    return [] if spec == wanted else [invalid("spec", shown, f"spec of '{name}' must equal the fixed value")]


def _shares(config: JsonObject, path: str) -> list[FieldError]:
    shares, found = config.get("nominalConcurrencyShares"), list[FieldError]()
    if shares is not None and shares < 0:
        found.append(invalid(f"{path}.nominalConcurrencyShares", shares, "must be a non-negative integer"))
    return found + _lendable(config.get("lendablePercent"), path)


def _lendable(percent: Any, path: str) -> list[FieldError]:
    if percent is None or 0 <= percent <= 100:
        return []
    return [invalid(f"{path}.lendablePercent", percent, "must be between 0 and 100, inclusive")]


def _limited(limited: JsonObject, path: str) -> list[FieldError]:
    shares, found = limited.get("nominalConcurrencyShares", 0), list[FieldError]()
    if shares < 0:
        found.append(invalid(f"{path}.nominalConcurrencyShares", shares, "must be a non-negative integer"))
    found += _response(limited.get("limitResponse") or {}, f"{path}.limitResponse")
    found += _lendable(limited.get("lendablePercent"), path)
    borrowing = limited.get("borrowingLimitPercent")
    if borrowing is not None and borrowing < 0:
        message = "if specified, must be a non-negative integer"
        found.append(invalid(f"{path}.borrowingLimitPercent", borrowing, message))
    return found


def _response(response: JsonObject, path: str) -> list[FieldError]:
    kind, queuing = response.get("type", ""), response.get("queuing")
    if kind == "Reject":
        message = "must be nil if limited.limitResponse.type is not Limited"
        return [] if queuing is None else [forbidden(f"{path}.queuing", message)]
    if kind != "Queue":
        return _type(f"{path}.type", kind, ("Queue", "Reject"))
    if queuing is None:
        return [required(f"{path}.queuing", "must not be empty if limited.limitResponse.type is Limited")]
    return _queuing(queuing, f"{path}.queuing")


def _queuing(queuing: JsonObject, path: str) -> list[FieldError]:
    length, queues, hand = (queuing.get(key, 0) for key in ("queueLengthLimit", "queues", "handSize"))
    found = [] if length > 0 else [invalid(f"{path}.queueLengthLimit", length, "must be positive")]
    if queues <= 0:
        found.append(invalid(f"{path}.queues", queues, "must be positive"))
    elif queues > MAX_QUEUES:
        found.append(invalid(f"{path}.queues", queues, f"must not be greater than {MAX_QUEUES}"))
    at = f"{path}.handSize"
    if hand <= 0:
        found.append(invalid(at, hand, "must be positive"))
    elif hand > queues:
        found.append(invalid(at, hand, f"should not be greater than queues ({queues})"))
    elif ceil(log2(queues) * hand) > MAX_HASH_BITS:
        text = (
            f"required entropy bits of deckSize {queues} and handSize {hand} should not be greater than {MAX_HASH_BITS}"
        )
        found.append(invalid(at, hand, text))
    return found
