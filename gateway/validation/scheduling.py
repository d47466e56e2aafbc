"""Where a pod may run: node selectors, affinity, tolerations, topology spread, scheduling gates."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.validation.field import FieldError, duplicate, forbidden, invalid, not_supported, required
from gateway.validation.formats import POSITIVE
from gateway.validation.labels import validate_label_name, validate_label_selector
from gateway.validation.names import is_dns1123_label, is_dns1123_subdomain, is_label_value, is_qualified_name
from gateway.validation.pod_options import PodOptions

REQUIRED_TERMS = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED_TERMS = "preferredDuringSchedulingIgnoredDuringExecution"
TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_NOT_AN_OPERATOR = "not a valid selector operator"
_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
_NODE_POLICIES = ("Honor", "Ignore")


def validate_affinity(affinity: JsonObject, path: str, errors: list[FieldError], options: PodOptions) -> None:
    node = affinity.get("nodeAffinity")
    if node is not None:
        _node_affinity(node, f"{path}.nodeAffinity", errors, options.any_node_affinity_values)
    for key in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(key)
        if terms is not None:
            _pod_affinity(terms, f"{path}.{key}", errors, options.any_selector_values)


def _node_affinity(affinity: JsonObject, path: str, errors: list[FieldError], any_value: bool) -> None:
    selector = affinity.get(REQUIRED_TERMS)
    if selector is not None:
        validate_node_selector(selector, f"{path}.{REQUIRED_TERMS}", errors, any_value=any_value)
    for i, term in enumerate(affinity.get(PREFERRED_TERMS) or ()):
        at = f"{path}.{PREFERRED_TERMS}[{i}]"
        _weight(term, at, errors)
        _node_selector_term(term.get("preference") or {}, f"{at}.preference", errors, any_value=True)


def _weight(term: JsonObject, path: str, errors: list[FieldError]) -> None:
    weight = term.get("weight", 0)
    if not 0 < weight <= 100:
        errors.append(invalid(f"{path}.weight", weight, "must be in the range 1-100"))


def validate_node_selector(
    selector: JsonObject, path: str, errors: list[FieldError], *, any_value: bool = False
) -> None:
    """Checks a NodeSelector, in pods and in volumes."""
    terms = selector.get("nodeSelectorTerms")
    if not terms:
        errors.append(required(f"{path}.nodeSelectorTerms", "must have at least one node selector term"))
    for i, term in enumerate(terms or ()):
        _node_selector_term(term, f"{path}.nodeSelectorTerms[{i}]", errors, any_value=any_value)


def _node_selector_term(term: JsonObject, path: str, errors: list[FieldError], *, any_value: bool) -> None:
    for i, requirement in enumerate(term.get("matchExpressions") or ()):
        _node_requirement(requirement, f"{path}.matchExpressions[{i}]", errors, any_value)
    for i, requirement in enumerate(term.get("matchFields") or ()):
        _node_field(requirement, f"{path}.matchFields[{i}]", errors)


def _node_requirement(requirement: JsonObject, path: str, errors: list[FieldError], any_value: bool) -> None:
    operator, values = requirement.get("operator", ""), requirement.get("values") or ()
    if operator in ("In", "NotIn"):
        if not values:
            errors.append(required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            errors.append(forbidden(f"{path}.values", text))
    elif operator in ("Gt", "Lt"):
        if len(values) != 1:
            text = "must be specified single value when `operator` is 'Lt' or 'Gt'"
            errors.append(required(f"{path}.values", text))
    else:
        errors.append(invalid(f"{path}.operator", operator, _NOT_AN_OPERATOR))
    errors += validate_label_name(requirement.get("key", ""), f"{path}.key")
    if not any_value:
        for i, value in enumerate(values):
            errors += [invalid(f"{path}.values[{i}]", value, message) for message in is_label_value(value)]


def _node_field(requirement: JsonObject, path: str, errors: list[FieldError]) -> None:
    operator, values = requirement.get("operator", ""), requirement.get("values") or ()
    if operator not in ("In", "NotIn"):
        errors.append(invalid(f"{path}.operator", operator, _NOT_AN_OPERATOR))
    elif len(values) != 1:
        text = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        errors.append(required(f"{path}.values", text))
    key = requirement.get("key", "")
    if key != "metadata.name":
        errors.append(invalid(f"{path}.key", key, "not a valid field selector key"))
        return
    for i, value in enumerate(values):
        errors += [invalid(f"{path}.values[{i}]", value, message) for message in is_dns1123_subdomain(value)]


def _pod_affinity(affinity: JsonObject, path: str, errors: list[FieldError], any_value: bool) -> None:
    for i, term in enumerate(affinity.get(REQUIRED_TERMS) or ()):
        _pod_affinity_term(term, f"{path}.{REQUIRED_TERMS}[{i}]", errors, any_value)
    for i, weighted in enumerate(affinity.get(PREFERRED_TERMS) or ()):
        at = f"{path}.{PREFERRED_TERMS}[{i}]"
        _weight(weighted, at, errors)
        _pod_affinity_term(weighted.get("podAffinityTerm") or {}, f"{at}.podAffinityTerm", errors, any_value)


def _pod_affinity_term(term: JsonObject, path: str, errors: list[FieldError], any_value: bool) -> None:
    for key in ("labelSelector", "namespaceSelector"):
        if selector := term.get(key):
            errors += validate_label_selector(selector, f"{path}.{key}", allow_invalid_values=any_value)
    for namespace in term.get("namespaces") or ():
        errors += [invalid(f"{path}.namespace", namespace, message) for message in is_dns1123_label(namespace)]
    if "matchLabelKeys" in term or "mismatchLabelKeys" in term:
        errors += validate_label_keys(term, path)
    key = term.get("topologyKey", "")
    if not key:
        errors.append(required(f"{path}.topologyKey", "can not be empty"))
    errors += validate_label_name(key, f"{path}.topologyKey")


def validate_label_keys(term: JsonObject, path: str) -> list[FieldError]:
    """matchLabelKeys and mismatchLabelKeys need a labelSelector, and must not repeat its keys."""
    found: list[FieldError] = []
    selector, match = term.get("labelSelector"), term.get("matchLabelKeys") or []
    mismatch = term.get("mismatchLabelKeys") or []
    for name, keys in (("matchLabelKeys", match), ("mismatchLabelKeys", mismatch)):
        if keys and selector is None:
            found.append(forbidden(f"{path}.{name}", "must not be specified when labelSelector is not set"))
        elif keys:
            found += [e for i, key in enumerate(keys) for e in validate_label_name(key, f"{path}.{name}[{i}]")]
    if selector is not None:
        seen, last = set(selector.get("matchLabels") or ()), {key: place for place, key in enumerate(match)}
        for expression in selector.get("matchExpressions") or ():
            key = expression.get("key", "")
            if key in last and key in seen:
                found.append(invalid(f"{path}[{last[key]}]", key, "exists in both matchLabelKeys and labelSelector"))
            seen.add(key)
    other = set(mismatch)
    for i, key in enumerate(match):
        if key in other:
            text = "exists in both matchLabelKeys and mismatchLabelKeys"
            found.append(invalid(f"{path}.matchLabelKeys[{i}]", key, text))
    return found


def _spread_keys(constraint: JsonObject, path: str) -> list[FieldError]:
    """The older rule of matchLabelKeys, for updates of objects that break the newer one."""
    keys, selector = constraint.get("matchLabelKeys") or (), constraint.get("labelSelector")
    found: list[FieldError] = []
    if keys and selector is None:
        found.append(forbidden(path, "must not be specified when labelSelector is not set"))
    taken = set((selector or {}).get("matchLabels") or ())
    taken |= {expression.get("key", "") for expression in (selector or {}).get("matchExpressions") or ()}
    for i, key in enumerate(keys):
        found += validate_label_name(key, f"{path}[{i}]")
        if key in taken:
            found.append(invalid(f"{path}[{i}]", key, "exists in both matchLabelKeys and labelSelector"))
    return found


def validate_tolerations(
    tolerations: list[JsonObject], path: str, errors: list[FieldError], options: PodOptions
) -> None:
    for i, toleration in enumerate(tolerations):
        at = f"{path}[{i}]"
        key, operator, effect = (toleration.get(name, "") for name in ("key", "operator", "effect"))
        if key:
            if messages := is_qualified_name(key):
                errors += [invalid(f"{at}.key", key, message) for message in messages]
        elif operator != "Exists":
            text = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            errors.append(invalid(f"{at}.operator", operator, text))
        if "tolerationSeconds" in toleration and effect != "NoExecute":
            text = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            errors.append(invalid(f"{at}.effect", effect, text))
        _toleration_value(operator, toleration.get("value", ""), at, errors, options)
        if effect and effect not in TAINT_EFFECTS:
            errors.append(not_supported(f"{at}.effect", effect, TAINT_EFFECTS))


def _toleration_value(operator: str, value: str, path: str, errors: list[FieldError], options: PodOptions) -> None:
    if operator in ("Equal", ""):
        if messages := is_label_value(value):
            errors.append(invalid(f"{path}.operator", value, ";".join(messages)))
    elif operator == "Exists":
        if value:
            errors.append(invalid(f"{path}.operator", value, "value must be empty when `operator` is 'Exists'"))
    elif operator in ("Lt", "Gt"):
        if not options.comparing_tolerations:
            errors.append(not_supported(f"{path}.operator", operator, ("Equal", "Exists", "Lt", "Gt")))
    else:
        errors.append(not_supported(f"{path}.operator", operator, ("Equal", "Exists")))


def validate_spread_constraints(
    constraints: list[JsonObject], path: str, errors: list[FieldError], options: PodOptions
) -> None:
    last = {(each.get("topologyKey", ""), _action(each)): i for i, each in enumerate(constraints)}
    for i, constraint in enumerate(constraints):
        at = f"{path}[{i}]"
        skew, key, action = constraint.get("maxSkew", 0), constraint.get("topologyKey", ""), _action(constraint)
        if skew <= 0:
            errors.append(invalid(f"{at}.maxSkew", skew, POSITIVE))
        if not key:
            errors.append(required(f"{at}.topologyKey", "can not be empty"))
        if action not in _ACTIONS:
            errors.append(not_supported(f"{at}.whenUnsatisfiable", action, _ACTIONS))
        if last[key, action] > i:
            errors.append(duplicate(f"{at}.{{topologyKey, whenUnsatisfiable}}", f"{{{key}, {action}}}"))
        _min_domains(constraint.get("minDomains"), action, f"{at}.minDomains", errors)
        for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            if policy in constraint and constraint[policy] not in _NODE_POLICIES:
                errors.append(not_supported(f"{at}.{policy}", constraint[policy], _NODE_POLICIES))
        if "matchLabelKeys" in constraint:
            old_rule = options.any_spread_label_keys
            errors += (
                _spread_keys(constraint, f"{at}.matchLabelKeys") if old_rule else validate_label_keys(constraint, at)
            )
        if not options.any_spread_selector and (selector := constraint.get("labelSelector")):
            errors += validate_label_selector(selector, f"{at}.labelSelector")


def _action(constraint: JsonObject) -> str:
    action: str = constraint.get("whenUnsatisfiable", "")
    return action


def _min_domains(count: int | None, action: str, path: str, errors: list[FieldError]) -> None:
    if count is None:
        return
    if count <= 0:
        errors.append(invalid(path, count, POSITIVE))
    if action != "DoNotSchedule":
        text = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
        errors.append(invalid(path, count, text))


def validate_scheduling_gates(gates: list[JsonObject], path: str, errors: list[FieldError]) -> None:
    seen: set[str] = set()
    for i, gate in enumerate(gates):
        name = gate.get("name", "")
        errors += [invalid(f"{path}[{i}]", name, message) for message in is_qualified_name(name)]
        if name in seen:
            errors.append(duplicate(f"{path}[{i}]", name))
        seen.add(name)
