"""RBAC roles and bindings (page "Using RBAC Authorization")."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.validation.checks import each, text
from gateway.validation.field import FieldError, Verbatim, go_value, invalid, not_supported, required, reworded
from gateway.validation.names import is_dns1123_subdomain, is_path_segment_name
from gateway.validation.objectmeta import IMMUTABLE

GROUP = "rbac.authorization.k8s.io"
SUBJECTS = ("ServiceAccount", "User", "Group")


def name_is_rbac(name: str, prefix: bool) -> tuple[str, ...]:
    """Names of roles and bindings only have to fit into a URL's path."""
    return is_path_segment_name(name)


def validate_rule(rule: JsonObject, path: str, namespaced: bool) -> list[FieldError]:
    found: list[FieldError] = []
    if not rule.get("verbs"):
        found.append(required(f"{path}.verbs", "verbs must contain at least one value"))
    if urls := rule.get("nonResourceURLs"):
        at = f"{path}.nonResourceURLs"
        if namespaced:
            found.append(invalid(at, urls, "namespaced rules cannot apply to non-resource URLs"))
        if any(rule.get(key) for key in ("apiGroups", "resources", "resourceNames")):
            found.append(invalid(at, urls, "rules cannot apply to both regular resources and non-resource URLs"))
        return found
    if not rule.get("apiGroups"):
        found.append(required(f"{path}.apiGroups", "resource rules must supply at least one api group"))
    if not rule.get("resources"):
        found.append(required(f"{path}.resources", "resource rules must supply at least one resource"))
    return found


def validate_rules(role: JsonObject, namespaced: bool) -> list[FieldError]:
    rules = role.get("rules") or ()
    return [error for i, rule in enumerate(rules) for error in validate_rule(rule, f"rules[{i}]", namespaced)]


def validate_binding(binding: JsonObject, namespaced: bool) -> list[FieldError]:
    role, found = binding.get("roleRef", {}), list[FieldError]()
    if role.get("apiGroup", "") != GROUP:
        found.append(not_supported("roleRef.apiGroup", role.get("apiGroup", ""), (GROUP,)))
    kinds = ("Role", "ClusterRole") if namespaced else ("ClusterRole",)
    if role.get("kind", "") not in kinds:
        found.append(not_supported("roleRef.kind", role.get("kind", ""), kinds))
    found += text("roleRef.name", role.get("name"), is_path_segment_name)
    for i, subject in enumerate(binding.get("subjects") or ()):
        found += validate_subject(subject, f"subjects[{i}]", namespaced)
    return found


def validate_subject(subject: JsonObject, path: str, namespaced: bool) -> list[FieldError]:
    name, group, kind = subject.get("name", ""), subject.get("apiGroup", ""), subject.get("kind", "")
    found = [] if name else [required(f"{path}.name")]
    if kind == "ServiceAccount":
        if name:
            found += each(f"{path}.name", name, is_dns1123_subdomain(name))
        if group:
            found.append(not_supported(f"{path}.apiGroup", group, ("",)))
        if not namespaced and not subject.get("namespace"):
            found.append(required(f"{path}.namespace"))
    elif kind in SUBJECTS:
        if group != GROUP:
            found.append(not_supported(f"{path}.apiGroup", group, (GROUP,)))
    else:
        found.append(not_supported(f"{path}.kind", kind, SUBJECTS))
    return found


def role_changed(binding: JsonObject, old: JsonObject) -> list[FieldError]:
    """The error about a changed roleRef, which is immutable."""
    new, before = binding.get("roleRef", {}), old.get("roleRef", {})
    keys = {"APIGroup": "apiGroup", "Kind": "kind", "Name": "name"}
    if all(new.get(key, "") == before.get(key, "") for key in keys.values()):
        return []
    shown = ",".join(f'"{name}":{go_value(new.get(key, ""))}' for name, key in keys.items())
    value = Verbatim(f"{{{shown}}}")
    error = invalid("roleRef", value, "cannot change roleRef")
    return [reworded("RoleRefImmutable", error, lambda: invalid("roleRef", value, IMMUTABLE))]
