"""The specs of SubjectAccessReviews, LocalSubjectAccessReviews and SelfSubjectAccessReviews."""

from __future__ import annotations

from collections.abc import Callable

from gateway.jsontypes import JsonObject, dumps
from gateway.schema.catalog import META, type_of
from gateway.schema.order import in_go_order
from gateway.validation.field import FieldError, Verbatim, forbidden, invalid, required, reworded
from gateway.validation.labels import validate_label_requirement

_ATTRIBUTES = "spec.resourceAttributes"


def validate_access_review(review: JsonObject, resource: str, namespace: str) -> list[FieldError]:
    """All errors of a review, in kube-apiserver's order.

    `resource` is the plural of one of the three kinds, `namespace` that of the request's path.
    """
    spec, local = review.get("spec") or {}, resource == "localsubjectaccessreviews"
    asked, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    errors = _what_is_asked(asked, path)
    if resource != "selfsubjectaccessreviews" and not spec.get("user") and not spec.get("groups"):
        errors.append(invalid("spec.user", "", "at least one of user or group must be specified"))
    if asked is not None:
        errors += _selector(asked.get("fieldSelector"), f"{_ATTRIBUTES}.fieldSelector", _field_requirement)
        errors += _selector(asked.get("labelSelector"), f"{_ATTRIBUTES}.labelSelector", _label_requirement)
    errors += _no_metadata(review["metadata"], local)
    if local:
        errors += _local(asked, path, namespace)
    return errors


def _what_is_asked(asked: JsonObject | None, path: JsonObject | None) -> list[FieldError]:
    text = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
    if asked is not None and path is not None:
        error = invalid(
            "spec.nonResourceAttributes", _as_go(path), "cannot be specified in combination with resourceAttributes"
        )
    elif asked is None and path is None:
        error = invalid(_ATTRIBUTES, None, text)
    else:
        return []
    value = None if path is None else _as_go(path)
    return [reworded("ReviewAttributesAreUnion", error, lambda: invalid("spec", value, text))]


def _as_go(path: JsonObject) -> JsonObject:
    return {"Path": path.get("path", ""), "Verb": path.get("verb", "")}


def _no_metadata(metadata: JsonObject, local: bool) -> list[FieldError]:
    allowed = {"managedFields", "namespace"} if local else {"managedFields"}
    if metadata.keys() <= allowed:
        return []
    shown = Verbatim(dumps(in_go_order(type_of(META + "ObjectMeta"), metadata)).decode())
    return [invalid("metadata", shown, "must be empty except for namespace" if local else "must be empty")]


def _local(asked: JsonObject | None, path: JsonObject | None, namespace: str) -> list[FieldError]:
    errors = []
    if asked is not None and asked.get("namespace", "") != namespace:
        text = "must match metadata.namespace"
        errors.append(invalid(f"{_ATTRIBUTES}.namespace", asked.get("namespace", ""), text))
    if path is not None:
        errors.append(invalid("spec.nonResourceAttributes", _as_go(path), "disallowed on this kind of request"))
    return errors


Requirement = Callable[[JsonObject, str], list[FieldError]]


def _selector(selector: JsonObject | None, path: str, requirement: Requirement) -> list[FieldError]:
    if selector is None:
        return []
    raw, requirements = selector.get("rawSelector", ""), selector.get("requirements") or []
    errors = []
    if raw and requirements:
        errors.append(invalid(f"{path}.rawSelector", raw, "may not specified at the same time as requirements"))
    if not raw and not requirements:
        text = f"when {path} is specified, requirements or rawSelector is required"
        errors.append(required(f"{path}.requirements", text))
    for i, each in enumerate(requirements):
        errors += requirement(each, f"{path}.requirements[{i}]")
    return errors


def _label_requirement(requirement: JsonObject, path: str) -> list[FieldError]:
    return validate_label_requirement(requirement, path, any_operator=True)


def _field_requirement(requirement: JsonObject, path: str) -> list[FieldError]:
    errors = [] if requirement.get("key") else [required(f"{path}.key", "must be specified")]
    operator, values = requirement.get("operator", ""), requirement.get("values")
    if operator in ("In", "NotIn") and not values:
        errors.append(required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
    elif operator in ("Exists", "DoesNotExist") and values:
        text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        errors.append(forbidden(f"{path}.values", text))
    return errors
