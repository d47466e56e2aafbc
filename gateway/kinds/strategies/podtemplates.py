"""PodTemplates (API reference "PodTemplate")."""

from __future__ import annotations

from collections.abc import Iterable

from gateway.jsontypes import JsonObject
from gateway.kinds.strategies.status import bump_generation
from gateway.kinds.strategies.templates import drop_template_fields
from gateway.kinds.strategy import Strategy
from gateway.kinds.write_context import WriteContext
from gateway.validation.field import FieldError
from gateway.validation.pod_template import template_options, validate_pod_template
from gateway.validation.pod_warnings import template_warnings


def _template(obj: JsonObject) -> JsonObject:
    template: JsonObject = obj.get("template") or {}
    return template


def _prepare_for_create(obj: JsonObject, context: WriteContext) -> None:
    obj["metadata"]["generation"] = 1
    drop_template_fields(_template(obj), None)


def _prepare_for_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> None:
    drop_template_fields(_template(obj), _template(old))
    if obj.get("template") != old.get("template"):
        bump_generation(obj, old)


def _validate(obj: JsonObject, context: WriteContext) -> list[FieldError]:
    errors: list[FieldError] = []
    validate_pod_template(_template(obj), "template", errors, template_options(None, context.enabled))
    return errors


def _validate_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    errors: list[FieldError] = []
    validate_pod_template(_template(obj), "template", errors, template_options(_template(old), context.enabled))
    return errors


def _warnings_on_create(obj: JsonObject, context: WriteContext) -> Iterable[str]:
    return template_warnings(_template(obj), "template")


def _warnings_on_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> Iterable[str]:
    changed = obj["metadata"].get("generation") != old["metadata"].get("generation")
    return template_warnings(_template(obj), "template") if changed else []


STRATEGIES = {
    "": Strategy(
        prepare_for_create=_prepare_for_create,
        prepare_for_update=_prepare_for_update,
        validate=_validate,
        validate_update=_validate_update,
        warnings_on_create=_warnings_on_create,
        warnings_on_update=_warnings_on_update,
        returns_deleted=True,
    )
}
