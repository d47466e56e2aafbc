"""What the strategies of workloads have in common: status, generation, dropped fields and warnings of the template."""

from __future__ import annotations

from collections.abc import Callable

from gateway.jsontypes import JsonObject
from gateway.kinds.attributes import Attributes
from gateway.kinds.strategies.status import bump_generation, keep_spec, keep_status
from gateway.validation.pod_features import drop_disabled_fields
from gateway.validation.pod_warnings import name_warning, template_warnings

POD_NAMES = "Pod names and hostnames"


def template_of(obj: JsonObject) -> JsonObject:
    template: JsonObject = (obj.get("spec") or {}).get("template") or {}
    return template


def drop_template_fields(template: JsonObject, old: JsonObject | None) -> None:
    if "spec" in template:
        drop_disabled_fields(template["spec"], None if old is None else old.get("spec"))


def creating(*counters: str) -> Callable[[JsonObject, Attributes], None]:
    """A prepare_for_create. `counters` are those that a status always has."""

    def prepare(obj: JsonObject, attributes: Attributes) -> None:
        obj["status"] = dict.fromkeys(counters, 0)
        obj["metadata"]["generation"] = 1
        drop_template_fields(template_of(obj), None)

    return prepare


def prepare_for_update(obj: JsonObject, old: JsonObject, attributes: Attributes) -> None:
    keep_status(obj, old, attributes)
    drop_template_fields(template_of(obj), template_of(old))
    if obj.get("spec") != old.get("spec"):
        bump_generation(obj, old)


prepare_status = keep_spec


def warnings_on_create(obj: JsonObject, attributes: Attributes) -> list[str]:
    name = obj["metadata"].get("name", "")
    return name_warning(name, POD_NAMES) + warnings_about(template_of(obj))


def warnings_on_update(obj: JsonObject, old: JsonObject, attributes: Attributes) -> list[str]:
    if obj["metadata"].get("generation") == old["metadata"].get("generation"):
        return []
    return warnings_about(template_of(obj))


def warnings_about(template: JsonObject, path: str = "spec.template") -> list[str]:
    return template_warnings(template, path)
