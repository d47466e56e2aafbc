"""IngressClasses: the controller and its parameters."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.kinds.strategies.status import counting, first_generation
from gateway.kinds.strategy import Strategy
from gateway.kinds.write_context import WriteContext
from gateway.validation.checks import each, immutable
from gateway.validation.field import FieldError, forbidden, not_supported, required, too_long
from gateway.validation.formats import validate_domain_prefixed_path
from gateway.validation.names import byte_length, is_dns1123_label
from gateway.validation.objectmeta import validate_object_meta
from gateway.validation.references import validate_typed_reference

MAX_CONTROLLER = 250
SCOPES = ("Cluster", "Namespace")


def _parameters(parameters: JsonObject | None, path: str) -> list[FieldError]:
    if parameters is None:
        return []
    found = validate_typed_reference(parameters, path)
    scope, namespace = parameters.get("scope"), parameters.get("namespace")
    if scope is None:
        found.append(required(f"{path}.scope"))
    elif scope not in SCOPES:
        found.append(not_supported(f"{path}.scope", scope, SCOPES))
    elif scope == "Namespace":
        if namespace is None:
            found.append(required(f"{path}.namespace", "`parameters.scope` is set to 'Namespace'"))
        else:
            found += each(f"{path}.namespace", namespace, is_dns1123_label(namespace))
    elif namespace is not None:
        found.append(forbidden(f"{path}.namespace", "`parameters.scope` is set to 'Cluster'"))
    return found


def _validate(obj: JsonObject, context: WriteContext) -> list[FieldError]:
    spec = obj.get("spec", {})
    controller = spec.get("controller", "")
    found = [too_long("spec.controller", MAX_CONTROLLER)] if byte_length(controller) > MAX_CONTROLLER else []
    found += validate_domain_prefixed_path("spec.controller", controller)
    return found + _parameters(spec.get("parameters"), "spec.parameters")


def _validate_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    new, before = (either.get("spec", {}).get("controller", "") for either in (obj, old))
    found = immutable("spec.controller", new, before)
    return found + validate_object_meta(obj["metadata"], False) + _validate(obj, context)


STRATEGIES = {
    "": Strategy(
        prepare_for_create=first_generation,
        prepare_for_update=counting(status=False),
        validate=_validate,
        validate_update=_validate_update,
    )
}
