"""DeviceClasses: selectors and configuration."""

from __future__ import annotations

from functools import partial

from gateway.jsontypes import JsonObject
from gateway.kinds.strategies.expressions import SelectorCheck
from gateway.kinds.strategies.status import bump_generation, counting, first_generation
from gateway.kinds.strategy import Strategy
from gateway.kinds.write_context import WriteContext
from gateway.release.gates import Enabled
from gateway.validation.checks import same
from gateway.validation.devices import (
    MAX_CONFIG,
    MAX_SELECTORS,
    same_parameters,
    validate_configuration,
    validate_list,
    validate_selector,
)
from gateway.validation.field import FieldError, invalid
from gateway.validation.names import name_is_declared_subdomain
from gateway.validation.objectmeta import validate_object_meta
from gateway.validation.resource_names import is_extended


def _validate(obj: JsonObject, old: JsonObject | None, enabled: Enabled) -> list[FieldError]:
    """Selectors and configuration that the stored object has may break rules that came later."""
    spec, before = obj.get("spec", {}), (old or {}).get("spec", {})
    selectors, configs = spec.get("selectors") or [], spec.get("config") or []
    kept = old is not None and same(selectors, before.get("selectors") or [])
    selector = partial(validate_selector, None if kept else SelectorCheck(enabled))
    found = validate_list(selectors, MAX_SELECTORS, "spec.selectors", selector)
    kept = old is not None and same(configs, before.get("config") or []) and same_parameters(spec, before)
    found += validate_list(configs, MAX_CONFIG, "spec.config", partial(validate_configuration, stored=kept))
    name = spec.get("extendedResourceName")
    if name is not None and not is_extended(name):
        found.append(invalid("spec.extendedResourceName", name, "must be a valid extended resource name"))
    return found


_count = counting(status=False)


def _prepare_for_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> None:
    _count(obj, old, context)
    spec, before = obj.get("spec") or {}, old.get("spec") or {}
    if same(spec, before) and not same_parameters(spec, before):
        bump_generation(obj, old)


def strategies(enabled: Enabled) -> dict[str, Strategy]:
    """The strategies by the values of feature gates."""

    def validate(obj: JsonObject, context: WriteContext) -> list[FieldError]:
        return _validate(obj, None, enabled)

    def validate_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
        return validate_object_meta(obj["metadata"], False, name_is_declared_subdomain) + _validate(obj, old, enabled)

    return {
        "": Strategy(
            prepare_for_create=first_generation,
            prepare_for_update=_prepare_for_update,
            validate=validate,
            validate_update=validate_update,
            validate_name=name_is_declared_subdomain,
            returns_deleted=True,
        )
    }
