"""Rules that workloads share: the selector matches the template, and pods of the template always restart."""

from __future__ import annotations

from gateway.jsontypes import JsonObject, by_name
from gateway.validation.field import FieldError, forbidden, go_value, invalid, not_supported, required
from gateway.validation.formats import NOT_NEGATIVE
from gateway.validation.internal_form import go_json, selector_json
from gateway.validation.labels import selector_is_empty, selector_matches, validate_label_selector
from gateway.validation.names import is_label_value, is_qualified_name
from gateway.validation.objectmeta import IMMUTABLE
from gateway.validation.pod_options import PodOptions
from gateway.validation.pod_template import validate_pod_template

NO_MATCH = "`selector` does not match template `labels`"


def validate_counts(holder: JsonObject, keys: tuple[str, ...], path: str, errors: list[FieldError]) -> None:
    """None of the fields `keys` may be negative."""
    for key in keys:
        if (value := holder.get(key)) is not None and value < 0:
            errors.append(invalid(f"{path}.{key}", value, NOT_NEGATIVE))


def validate_not_above(
    status: JsonObject, keys: tuple[str, ...], limit: str, path: str, errors: list[FieldError], text: str
) -> None:
    """None of the counters `keys` may be greater than the counter `limit`, which messages call `text`."""
    most = status.get(limit, 0)
    for key in keys:
        if (value := status.get(key, 0)) > most:
            errors.append(invalid(f"{path}.{key}", value, f"cannot be greater than {text}"))


def validate_collision_count(new: JsonObject, old: JsonObject, errors: list[FieldError]) -> None:
    """The collisionCount must not decrease. `new` and `old` are statuses."""
    count, before = new.get("collisionCount"), old.get("collisionCount")
    if before is not None and (count is None or count < before):
        errors.append(invalid("status.collisionCount", count or 0, "cannot be decremented"))


def selector_is_usable(selector: JsonObject | None) -> bool:
    """Whether a selector can match labels: its keys, values and operators must be valid."""
    if not selector:
        return True
    for key, value in (selector.get("matchLabels") or {}).items():
        if is_qualified_name(key) or is_label_value(value):
            return False
    for requirement in selector.get("matchExpressions") or ():
        operator, values = requirement.get("operator", ""), requirement.get("values") or ()
        if is_qualified_name(requirement.get("key", "")) or any(is_label_value(value) for value in values):
            return False
        if operator not in ("In", "NotIn", "Exists", "DoesNotExist") or (operator in ("In", "NotIn")) != bool(values):
            return False
    return True


def validate_selector(
    selector: JsonObject | None, path: str, errors: list[FieldError], kind: str, *, any_values: bool = False
) -> None:
    """The selector must be present, valid and not empty. Messages say that it is for a `kind`."""
    if selector is None:
        errors.append(required(path))
        return
    errors += validate_label_selector(selector, path, allow_invalid_values=any_values)
    if selector_is_empty(selector):
        errors.append(invalid(path, selector_json(selector), f"empty selector is invalid for {kind}"))


def template_labels(template: JsonObject) -> dict[str, str]:
    labels: dict[str, str] = (template.get("metadata") or {}).get("labels") or {}
    return labels


def no_match(template: JsonObject, path: str) -> FieldError:
    """The error of a template, at `path`, whose labels do not match the selector. It shows the labels as sent: {} or
    null."""
    labels = (template.get("metadata") or {}).get("labels")
    return invalid(f"{path}.metadata.labels", go_json(None if labels is None else by_name(labels)), NO_MATCH)


def validate_match(selector: JsonObject | None, template: JsonObject, path: str, errors: list[FieldError]) -> None:
    """The selector must match the labels of the template, whose path is `path`. A missing selector matches nothing."""
    labels = template_labels(template)
    if selector is None or not selector_matches(selector, labels):
        errors.append(no_match(template, path))


def validate_always_restarts(template: JsonObject, path: str, errors: list[FieldError], kind: str) -> None:
    spec = template.get("spec") or {}
    policy = spec.get("restartPolicy", "")
    if policy != "Always":
        errors.append(not_supported(f"{path}.spec.restartPolicy", policy, ("Always",)))
    if "activeDeadlineSeconds" in spec:
        text = f"activeDeadlineSeconds in {kind} is not Supported"
        errors.append(forbidden(f"{path}.spec.activeDeadlineSeconds", text))


def validate_selected_template(spec: JsonObject, errors: list[FieldError], options: PodOptions) -> None:
    """Checks the selector and the template of a Deployment or ReplicaSet."""
    selector, template, path = spec.get("selector"), spec.get("template") or {}, "spec.template"
    validate_selector(selector, "spec.selector", errors, "deployment")
    if not selector_is_usable(selector):
        errors.append(invalid("spec.selector", selector_json(selector), "invalid label selector"))
        return
    if selector is None or not selector_is_empty(selector):
        validate_match(selector, template, path, errors)
    validate_pod_template(template, path, errors, options)
    validate_always_restarts(template, path, errors, "ReplicaSet")


def validate_available(status: JsonObject, counts: tuple[str, ...], ready: tuple[str, ...]) -> list[FieldError]:
    """The errors of the status of a Deployment or ReplicaSet: no count may be negative, and none of `ready` above the
    replicas."""
    errors: list[FieldError] = []
    validate_counts(status, counts, "status", errors)
    validate_not_above(status, ready, "replicas", "status", errors, "status.replicas")
    validate_not_above(status, ("availableReplicas",), "readyReplicas", "status", errors, "readyReplicas")
    return errors


def validate_immutable_selector(new: JsonObject, old: JsonObject, errors: list[FieldError]) -> None:
    """The selector must not change. `new` and `old` are specs."""
    if new.get("selector") != old.get("selector"):
        errors.append(invalid("spec.selector", selector_json(new.get("selector")), IMMUTABLE))


def list_of(values: tuple[str, ...]) -> str:
    """A list as Go's %q prints it."""
    return "[" + " ".join(go_value(value) for value in values) + "]"
