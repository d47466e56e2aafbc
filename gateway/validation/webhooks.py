"""Webhook configurations, validating and mutating (page "Dynamic Admission Control")."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.validation.admission_rules import (
    FAILURE_POLICIES,
    MATCH_POLICIES,
    validate_match_conditions,
    validate_rule,
)
from gateway.validation.checks import each, known, same
from gateway.validation.expressions import NewExpressions
from gateway.validation.field import FieldError, duplicate, first_places, invalid, not_supported, required
from gateway.validation.formats import validate_fully_qualified_name
from gateway.validation.labels import validate_label_selector
from gateway.validation.names import is_dns1035_label
from gateway.validation.urls import validate_webhook_service, validate_webhook_url

REVIEW_VERSIONS = ("v1", "v1beta1")
NO_SIDE_EFFECTS, SIDE_EFFECTS = ("None", "NoneOnDryRun"), ("None", "NoneOnDryRun", "Some", "Unknown")
SELECTORS = ("namespaceSelector", "objectSelector")


def validate_webhooks(
    configuration: JsonObject, old: JsonObject | None, expressions: NewExpressions
) -> list[FieldError]:
    """The errors of all webhooks. An update may keep some faults that the old configuration has already."""
    hooks: list[JsonObject] = configuration.get("webhooks") or []
    before: list[JsonObject] = (old or {}).get("webhooks") or []
    names = [hook.get("name", "") for hook in before]
    unique = len(set(names)) == len(names)
    side_effects = (
        NO_SIDE_EFFECTS if all(hook.get("sideEffects") in NO_SIDE_EFFECTS for hook in before) else SIDE_EFFECTS
    )
    recognized = all(
        set(hook["admissionReviewVersions"]) & set(REVIEW_VERSIONS)
        for hook in before
        if hook.get("admissionReviewVersions")
    )
    any_value = any(validate_label_selector(hook.get(key), "") for hook in before for key in SELECTORS)
    conditions = [[hook.get("matchConditions") or [] for hook in either] for either in (hooks, before)]
    unchanged = old is not None and same(*conditions)
    compiler = expressions(False, False)
    found, seen = list[FieldError](), set[str]()
    for i, hook in enumerate(hooks):
        path, name = f"webhooks[{i}]", hook.get("name", "")
        found += _webhook(hook, path, side_effects, any_value)
        if not unchanged:
            given = hook.get("matchConditions") or []
            found += validate_match_conditions(given, f"{path}.matchConditions", compiler)
        versions = hook.get("admissionReviewVersions") or []
        found += _review_versions(versions, f"{path}.admissionReviewVersions", recognized)
        if unique and name and name in seen:
            found.append(duplicate(f"{path}.name", name))
        seen.add(name)
    return found


def _webhook(hook: JsonObject, path: str, side_effects: tuple[str, ...], any_value: bool) -> list[FieldError]:
    found = validate_fully_qualified_name(f"{path}.name", hook.get("name", ""))
    for i, rule in enumerate(hook.get("rules") or ()):
        found += validate_rule(rule, f"{path}.rules[{i}]")
    for key, supported in (("failurePolicy", FAILURE_POLICIES), ("matchPolicy", MATCH_POLICIES)):
        if (value := hook.get(key)) is not None:
            found += known(f"{path}.{key}", value, supported)
    effects = hook.get("sideEffects")
    if effects is None:
        found.append(required(f"{path}.sideEffects", f"must specify one of {', '.join(side_effects)}"))
    elif effects not in side_effects:
        found.append(not_supported(f"{path}.sideEffects", effects, side_effects))
    timeout = hook.get("timeoutSeconds")
    if timeout is not None and not 1 <= timeout <= 30:
        message = "the timeout value must be between 1 and 30 seconds"
        found.append(invalid(f"{path}.timeoutSeconds", timeout, message))
    for key in SELECTORS:
        found += validate_label_selector(hook.get(key), f"{path}.{key}", allow_invalid_values=any_value)
    if (policy := hook.get("reinvocationPolicy")) is not None:
        found += known(f"{path}.reinvocationPolicy", policy, ("IfNeeded", "Never"))
    return found + _client(hook.get("clientConfig", {}), f"{path}.clientConfig")


def _client(client: JsonObject, path: str) -> list[FieldError]:
    url, service = client.get("url"), client.get("service")
    if url is not None and service is None:
        return validate_webhook_url(url, f"{path}.url")
    if url is not None or service is None:
        return [required(path, "exactly one of url or service is required")]
    name, namespace = service.get("name", ""), service.get("namespace", "")
    return validate_webhook_service(
        name, namespace, service.get("path"), service.get("port", 0), f"{path}.service", swapped=True
    )


def each_version_once(versions: list[str], path: str) -> list[FieldError]:
    """The errors about versions that are not DNS labels, or come twice."""
    found: list[FieldError] = []
    first = first_places(versions)
    for i, version in enumerate(versions):
        if first[version] < i:
            found.append(invalid(f"{path}[{i}]", version, "duplicate version"))
        else:
            found += each(f"{path}[{i}]", version, is_dns1035_label(version))
    return found


def _review_versions(versions: list[str], path: str, recognized: bool) -> list[FieldError]:
    if not versions:
        return [required(path, f"must specify one of {', '.join(REVIEW_VERSIONS)}")]
    found = each_version_once(versions, path)
    if recognized and not set(versions) & set(REVIEW_VERSIONS):
        found.append(invalid(path, versions, f"must include at least one of {', '.join(REVIEW_VERSIONS)}"))
    return found
