"""What webhooks and admission policies share: rules, match resources, match conditions."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.validation.checks import each, known
from gateway.validation.expressions import Expressions, Use
from gateway.validation.field import (
    FieldError,
    duplicate,
    first_places,
    forbidden,
    invalid,
    not_supported,
    required,
    too_many,
)
from gateway.validation.formats import validate_qualified_name
from gateway.validation.labels import validate_label_selector
from gateway.validation.names import is_dns1035_label, is_dns1123_subdomain, is_path_segment_name

FAILURE_POLICIES, MATCH_POLICIES = ("Fail", "Ignore"), ("Equivalent", "Exact")
OPERATIONS, MUTATING_OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE"), ("*", "CONNECT", "CREATE", "UPDATE")
SCOPES = ("*", "Cluster", "Namespaced")
MAX_CONDITIONS = 64
STATIC_SUFFIX = ".static.k8s.io"
EXEMPT = frozenset(
    (
        ("authentication.k8s.io", "selfsubjectreviews"),
        ("authentication.k8s.io", "tokenreviews"),
        ("authorization.k8s.io", "localsubjectaccessreviews"),
        ("authorization.k8s.io", "selfsubjectaccessreviews"),
        ("authorization.k8s.io", "selfsubjectrulesreviews"),
        ("authorization.k8s.io", "subjectaccessreviews"),
    )
)
"""Reviews of identities and of access: no policy ever sees them, nor webhooks from 1.37 on."""


def static_suffix_warnings(obj: JsonObject) -> list[str]:
    """The warning about a name with the suffix that is reserved for configuration from files."""
    if not obj["metadata"].get("name", "").endswith(STATIC_SUFFIX):
        return []
    text = "are reserved for static manifest-based configurations and cannot be managed via the API"
    return [f'metadata.name: names ending with "{STATIC_SUFFIX}" {text}']


def exempt_resources_warnings(obj: JsonObject) -> list[str]:
    """Warnings about rules of a webhook configuration that name resources which no webhook sees."""
    text, found = "is excluded from admission webhooks; this rule will have no effect", list[str]()
    for i, webhook in enumerate(obj.get("webhooks") or ()):
        for j, rule in enumerate(webhook.get("rules") or ()):
            groups, resources = (dict.fromkeys(rule.get(key) or ()) for key in ("apiGroups", "resources"))
            if "*" not in groups and "*" not in resources:
                found += [
                    f"webhooks[{i}].rules[{j}]: {resource}.{group} {text}"
                    for group in groups
                    for resource in resources
                    if (group, resource) in EXEMPT
                ]
    return found


def validate_rule(rule: JsonObject, path: str) -> list[FieldError]:
    """The errors of a RuleWithOperations."""
    operations: list[str] = rule.get("operations") or []
    found = [] if operations else [required(f"{path}.operations")]
    if len(operations) > 1 and "*" in operations:
        found.append(invalid(f"{path}.operations", operations, "if '*' is present, must not specify other operations"))
    for i, operation in enumerate(operations):
        found += known(f"{path}.operations[{i}]", operation, OPERATIONS)
    for key, what in (("apiGroups", "API groups"), ("apiVersions", "API versions")):
        values: list[str] = rule.get(key) or []
        if not values:
            found.append(required(f"{path}.{key}"))
        if len(values) > 1 and "*" in values:
            found.append(invalid(f"{path}.{key}", values, f"if '*' is present, must not specify other {what}"))
        if key == "apiVersions":
            found += [required(f"{path}.{key}[{i}]") for i, value in enumerate(values) if not value]
    found += _resources(rule.get("resources") or [], f"{path}.resources")
    if (scope := rule.get("scope")) is not None:
        found += known(f"{path}.scope", scope, SCOPES)
    return found


def _resources(resources: list[str], path: str) -> list[FieldError]:
    found = [] if resources else [required(path)]
    any_sub, any_resource, last_is_plain = set[str](), set[str](), False
    for i, name in enumerate(resources):
        at = f"{path}[{i}]"
        if not name:
            found.append(required(at))
            continue
        resource, slash, sub = name.partition("/")
        if not slash:
            last_is_plain = name != "*"
            continue
        if resource in any_sub:
            found.append(invalid(at, name, f"if '{resource}/*' is present, must not specify {name}"))
        if sub in any_resource:
            found.append(invalid(at, name, f"if '*/{sub}' is present, must not specify {name}"))
        if sub == "*":
            any_sub.add(resource)
        if resource == "*":
            any_resource.add(sub)
    if len(resources) > 1 and "*/*" in resources:
        found.append(invalid(path, resources, "if '*/*' is present, must not specify other resources"))
    if "*" in resources and last_is_plain:
        message = "if '*' is present, must not specify other resources without subresources"
        found.append(invalid(path, resources, message))
    return found


def validate_match_conditions(conditions: list[JsonObject], path: str, expressions: Expressions) -> list[FieldError]:
    found = [too_many(path, len(conditions), MAX_CONDITIONS)] if len(conditions) > MAX_CONDITIONS else []
    names: set[str] = set()
    for i, condition in enumerate(conditions):
        at, name, expression = f"{path}[{i}]", condition.get("name", ""), condition.get("expression", "").strip()
        if not expression:
            found.append(required(f"{at}.expression"))
        elif (fault := expressions.check(expression, Use.CONDITION)) is not None:
            found.append(fault.at(f"{at}.expression", expression))
        if not name:
            found.append(required(f"{at}.name"))
            continue
        found += validate_qualified_name(f"{at}.name", name)
        if name in names:
            found.append(duplicate(f"{at}.name", name))
        names.add(name)
    return found


def validate_match_resources(match: JsonObject | None, path: str) -> list[FieldError]:
    if match is None:
        return []
    policy, found = match.get("matchPolicy"), list[FieldError]()
    found += (
        [required(f"{path}.matchPolicy")] if policy is None else known(f"{path}.matchPolicy", policy, MATCH_POLICIES)
    )
    for key in ("namespaceSelector", "objectSelector"):
        at = f"{path}.{key}"
        found += validate_label_selector(match[key], at) if key in match else [required(at)]
    for key in ("resourceRules", "excludeResourceRules"):
        for i, rule in enumerate(match.get(key) or ()):
            found += _named_rule(rule, f"{path}.{key}[{i}]")
    return found


def _named_rule(rule: JsonObject, path: str) -> list[FieldError]:
    names, found = rule.get("resourceNames") or [], list[FieldError]()
    first = first_places(names)
    for i, name in enumerate(names):
        found += each(f"{path}.resourceNames[{i}]", name, is_path_segment_name(name))
        if first[name] < i:
            found.append(duplicate(f"{path}.resourceNames[{i}]", name))
    return found + validate_rule(rule, path)


def unmutable_operations(match: JsonObject | None, path: str) -> list[FieldError]:
    """Errors about operations that mutating policies do not handle, as deletions."""
    operations = [
        operation for rule in (match or {}).get("resourceRules") or () for operation in rule.get("operations") or ()
    ]
    at = f"{path}.resourceRules.operations"
    return [
        not_supported(at, operation, MUTATING_OPERATIONS)
        for operation in operations
        if operation not in MUTATING_OPERATIONS
    ]


def validate_param_kind(kind: JsonObject, path: str) -> list[FieldError]:
    version, name, found = kind.get("apiVersion", ""), kind.get("kind", ""), list[FieldError]()
    if not version:
        found.append(required(f"{path}.apiVersion"))
    elif version.count("/") > 1:
        found.append(invalid(f"{path}.apiVersion", version, f"unexpected GroupVersion string: {version}"))
    else:
        found += _group_version(version, f"{path}.apiVersion")
    if not name:
        found.append(required(f"{path}.kind"))
    elif messages := is_dns1035_label(name.lower()):
        text = f"may have mixed case, but should otherwise match: {','.join(messages)}"
        found.append(invalid(f"{path}.kind", name, text))
    return found


def _group_version(text: str, path: str) -> list[FieldError]:
    group, _, version = text.rpartition("/") if text != "/" else ("", "", "")
    found: list[FieldError] = []
    if group and (messages := is_dns1123_subdomain(group)):
        found.append(invalid(path, group, ",".join(messages)))
    if not version:
        found.append(invalid(path, text, "version must be specified"))
    elif messages := is_dns1035_label(version):
        found.append(invalid(path, version, ",".join(messages)))
    return found


def validate_param_ref(reference: JsonObject | None, path: str) -> list[FieldError]:
    if reference is None:
        return []
    name, selector, found = reference.get("name", ""), reference.get("selector"), list[FieldError]()
    exclusive = "name and selector are mutually exclusive"
    if name:
        found += each(f"{path}.name", name, is_path_segment_name(name))
        if selector is not None:
            found.append(forbidden(f"{path}.name", exclusive))
    if selector is not None:
        found += validate_label_selector(selector, f"{path}.selector")
        if name:
            found.append(forbidden(f"{path}.selector", exclusive))
    if not name and selector is None:
        found.append(required(path, "one of name or selector must be specified"))
    action = reference.get("parameterNotFoundAction")
    if not action:
        found.append(required(f"{path}.parameterNotFoundAction"))
    else:
        found += known(f"{path}.parameterNotFoundAction", action, ("Deny", "Allow"))
    return found
