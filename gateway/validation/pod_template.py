"""Pod templates of workloads (API reference "PodTemplateSpec")."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.release.gates import Enabled
from gateway.validation.field import FieldError, forbidden
from gateway.validation.known_templates import has_passed, passes
from gateway.validation.labels import validate_annotations, validate_labels
from gateway.validation.pod_annotations import validate_annotations_match_fields, validate_pod_annotations
from gateway.validation.pod_options import PodOptions, options_of_create
from gateway.validation.pod_relaxations import options_for_update
from gateway.validation.pod_spec import validate_pod_spec


def options_of_update(template: JsonObject, old: JsonObject, enabled: Enabled) -> PodOptions:
    """The options for a template that replaces `old`; those of a create if it is known to meet these."""
    strict = options_of_create(is_pod=False, enabled=enabled)
    return strict if has_passed(strict.known_as, template) else template_options(old, enabled)


def template_options(old: JsonObject | None, enabled: Enabled) -> PodOptions:
    """The options for a template that replaces `old`, or for a new one if `old` is None."""
    if old is None:
        return options_of_create(is_pod=False, enabled=enabled)
    annotations = (old.get("metadata") or {}).get("annotations")
    return options_for_update(old.get("spec") or {}, annotations, is_pod=False, enabled=enabled)


def validate_pod_template(template: JsonObject, path: str, errors: list[FieldError], options: PodOptions) -> None:
    """Adds the errors of a template to the list."""
    rule, before = options.known_as, len(errors)
    if rule and has_passed(rule, template):
        return
    _validate(template, path, errors, options)
    if rule and len(errors) == before:
        passes(rule, template)


def _validate(template: JsonObject, path: str, errors: list[FieldError], options: PodOptions) -> None:
    meta, spec = template.get("metadata") or {}, template.get("spec") or {}
    if labels := meta.get("labels"):
        errors += validate_labels(labels, f"{path}.labels")
    annotations = meta.get("annotations")
    if annotations:
        errors += validate_annotations(annotations, f"{path}.annotations")
        validate_pod_annotations(annotations, spec, f"{path}.annotations", errors, options)
    validate_pod_spec(spec, None, f"{path}.spec", errors, options)
    if annotations:
        validate_annotations_match_fields(annotations, spec, f"{path}.spec", errors)
    if spec.get("ephemeralContainers"):
        text = "ephemeral containers not allowed in pod template"
        errors.append(forbidden(f"{path}.spec.ephemeralContainers", text))
