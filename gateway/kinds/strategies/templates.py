"""The parts that the strategies of workloads share: status, generation, dropped fields and warnings of the template."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from gateway.jsontypes import JsonObject
from gateway.kinds.strategies.status import bump_generation, keep_spec, keep_status
from gateway.kinds.write_context import WriteContext
from gateway.validation.field import FieldError
from gateway.validation.known_templates import QUIET, has_passed, passes
from gateway.validation.pod_features import drop_disabled_fields
from gateway.validation.pod_options import PodOptions
from gateway.validation.pod_template import options_of_update, template_options
from gateway.validation.pod_warnings import name_warning, template_warnings
from gateway.validation.workload import validate_immutable_selector

POD_NAMES = "Pod names and hostnames"

TemplateOf = Callable[[JsonObject], JsonObject]
CheckSpec = Callable[[JsonObject, list[FieldError], PodOptions], None]
"""Validates a spec, and adds its errors to the list."""
OnCreate = Callable[[JsonObject, WriteContext], list[FieldError]]
OnUpdate = Callable[[JsonObject, JsonObject, WriteContext], list[FieldError]]


def template_of(obj: JsonObject) -> JsonObject:
    template: JsonObject = (obj.get("spec") or {}).get("template") or {}
    return template


def drop_template_fields(template: JsonObject, old: JsonObject | None) -> None:
    if "spec" in template:
        drop_disabled_fields(template["spec"], None if old is None else old.get("spec"))


def creating(*counters: str, template: TemplateOf = template_of) -> Callable[[JsonObject, WriteContext], None]:
    """A prepare_for_create: the status gets `counters`, all 0, and the generation is 1."""

    def prepare(obj: JsonObject, context: WriteContext) -> None:
        obj["status"] = dict.fromkeys(counters, 0)
        obj["metadata"]["generation"] = 1
        drop_template_fields(template(obj), None)

    return prepare


def updating(template: TemplateOf = template_of) -> Callable[[JsonObject, JsonObject, WriteContext], None]:
    """A prepare_for_update: keeps the old status; a change of the spec increments the generation."""

    def prepare(obj: JsonObject, old: JsonObject, context: WriteContext) -> None:
        keep_status(obj, old, context)
        drop_template_fields(template(obj), template(old))
        if obj.get("spec") != old.get("spec"):
            bump_generation(obj, old)

    return prepare


prepare_for_update = updating()
prepare_status = keep_spec


def validating(spec: CheckSpec) -> OnCreate:
    """A `validate` that checks only the spec."""

    def validate(obj: JsonObject, context: WriteContext) -> list[FieldError]:
        errors: list[FieldError] = []
        spec(obj.get("spec") or {}, errors, template_options(None, context.enabled))
        return errors

    return validate


def unless_same_spec(judge: OnUpdate) -> OnUpdate:
    """A `validate_update` that calls `judge` only if the spec changes."""

    def validate(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
        return [] if obj.get("spec") == old.get("spec") else judge(obj, old, context)

    return validate


def validating_update(spec: CheckSpec, *, immutable_selector: bool = True) -> OnUpdate:
    """A `validate_update` that checks the spec, if it changes."""

    @unless_same_spec
    def validate(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
        errors: list[FieldError] = []
        spec(obj.get("spec") or {}, errors, options_of_update(template_of(obj), template_of(old), context.enabled))
        if immutable_selector:
            validate_immutable_selector(obj.get("spec") or {}, old.get("spec") or {}, errors)
        return errors

    return validate


def warnings_on_create(obj: JsonObject, context: WriteContext) -> Iterator[str]:
    name = obj["metadata"].get("name", "")
    yield from name_warning(name, POD_NAMES)
    yield from warnings_about(template_of(obj))


def warnings_on_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> Iterable[str]:
    if obj["metadata"].get("generation") == old["metadata"].get("generation"):
        return []
    return warnings_about(template_of(obj))


def warnings_about(template: JsonObject, path: str = "spec.template") -> Iterator[str]:
    """Yields the warnings about a template."""
    if has_passed(QUIET, template):
        return
    quiet = True
    for text in template_warnings(template, path):
        quiet = False
        yield text
    if quiet:
        passes(QUIET, template)
