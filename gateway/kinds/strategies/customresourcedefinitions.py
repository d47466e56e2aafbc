"""CustomResourceDefinitions (page "Extend the Kubernetes API with CustomResourceDefinitions")."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from itertools import chain
from typing import Any

from gateway.jsontypes import JsonObject, dumps, loads
from gateway.kinds.strategies.status import counting, keep_spec
from gateway.kinds.strategy import Strategy, Termination
from gateway.kinds.write_context import WriteContext
from gateway.release.gates import Enabled
from gateway.time_limits import RULES_ON_LOOP, TakesLong, on_loop
from gateway.validation.custom_resource_definition import validate_definition, validate_definition_status
from gateway.validation.definition_schema import RuleChecks
from gateway.validation.field import FieldError, go_quote, invalid
from gateway.validation.rule_text import LONG_RULES, length_of_rules
from gateway.validation.schema_defaults import DefaultsOutOfBudget, EvaluateRules
from gateway.validation.schema_formats import known_format
from gateway.validation.structural_schema import every

FINALIZER = "customresourcecleanup.apiextensions.k8s.io"
_CHECKS = "gateway.cel.definition_rules"  # the first CRD with rules imports it, which takes some 60 ms
_WEIGHT = 64  # high, because validation compiles expressions and patterns


def _name(obj: JsonObject) -> list[FieldError]:
    """The errors of name and generateName, which must be PLURAL.GROUP."""
    meta, spec = obj["metadata"], obj.get("spec", {})
    wanted = f"{spec.get('names', {}).get('plural', '')}.{spec.get('group', '')}"
    message = 'must be spec.names.plural+"."+spec.group'
    given = ((f"metadata.{key}", meta.get(key, "")) for key in ("generateName", "name"))
    return [invalid(path, name, message) for path, name in given if name and name != wanted]


def _rules_of(old: JsonObject | None, enabled: Enabled) -> RuleChecks:
    """The checks of validation rules. The cost limit of a single expression does not apply to schemas that `old` has.
    They may have all functions, too.
    """
    versions = (old or {}).get("spec", {}).get("versions") or ()
    before = [(version.get("schema") or {}).get("openAPIV3Schema") for version in versions]

    def check(schema: JsonObject, path: str, found: list[FieldError]) -> list[FieldError]:
        if not _has_rules(schema):  # as most schemas
            return []
        if on_loop() and (_CHECKS not in sys.modules or length_of_rules(schema) > LONG_RULES):
            raise TakesLong
        from gateway.cel.definition_rules import validate_definition_rules
        from gateway.cel.editions import edition_of, edition_of_new

        new = schema not in before
        edition = edition_of_new(enabled) if new else edition_of(enabled)
        return validate_definition_rules(schema, path, found, per_expression=new, edition=edition)

    return RuleChecks(check, _default_rules(enabled))


def _has_rules(schema: JsonObject) -> bool:
    return any("x-kubernetes-validations" in one for one in every(schema))


def _default_rules(enabled: Enabled) -> EvaluateRules:
    """The function that evaluates rules on default values. All defaults together have the cost budget of one object."""
    left: list[int] = []

    def evaluate(schema: JsonObject, is_object: bool, value: Any, path: str) -> list[FieldError]:
        if not _has_rules(schema):
            return []
        from gateway.cel.costs import PER_OBJECT
        from gateway.cel.editions import edition_of
        from gateway.cel.rules import TooCostly, compile_schema, validate_default

        if on_loop() and length_of_rules(schema) > LONG_RULES:
            raise TakesLong

        shows_values = enabled("CELMessagesShowValues")
        rules = compile_schema(schema, root=is_object, shows_values=shows_values, edition=edition_of(enabled))
        if rules is None:
            return []
        budget, patience = left[0] if left else PER_OBJECT, RULES_ON_LOOP if on_loop() else None
        try:
            found, rest = validate_default(rules, loads(dumps(value)), path, budget, patience)
        except TooCostly:
            raise TakesLong from None
        left[:] = [rest]
        if rest < 0:
            raise DefaultsOutOfBudget(found)
        return found

    return evaluate


def _validate_status(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    return validate_definition_status(obj)


def _store(obj: JsonObject) -> None:
    """Adds the storage version to status.storedVersions."""
    versions = obj.get("spec", {}).get("versions") or ()
    name = next((version.get("name", "") for version in versions if version.get("storage")), None)
    status = obj.setdefault("status", {})
    if name is not None and name not in (status.get("storedVersions") or ()):
        status["storedVersions"] = [*(status.get("storedVersions") or ()), name]


def _drop_empty_webhook(obj: JsonObject) -> None:
    """Drops conversion.webhook if it is empty, since it is not stored."""
    conversion = obj.get("spec", {}).get("conversion") or {}
    if not any(value is not None for value in (conversion.get("webhook") or {}).values()):
        conversion.pop("webhook", None)


def _prepare_for_create(obj: JsonObject, context: WriteContext) -> None:
    names = {"plural": "", "kind": ""}
    obj["status"] = {"conditions": None, "acceptedNames": names, "storedVersions": None}
    obj["metadata"]["generation"] = 1
    _drop_empty_webhook(obj)
    _store(obj)


def _begin_termination(obj: JsonObject, now: str) -> None:
    """Marks a CRD for deletion. Its objects are deleted first."""
    meta, status = obj["metadata"], obj.setdefault("status", {})
    if meta.get("deletionTimestamp"):
        return
    meta["deletionTimestamp"] = now
    if FINALIZER not in (meta.get("finalizers") or ()):
        meta["finalizers"] = [*(meta.get("finalizers") or ()), FINALIZER]
    kept = [one for one in status.get("conditions") or () if one.get("type") != "Terminating"]
    status["conditions"] = [
        *kept,
        {
            "type": "Terminating",
            "status": "True",
            "lastTransitionTime": now,
            "reason": "InstanceDeletionPending",
            "message": "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
        },
    ]


_count = counting()


def _prepare_for_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> None:
    _drop_empty_webhook(obj)
    _count(obj, old, context)
    _store(obj)


def _formats(obj: JsonObject, ranged: bool) -> dict[str, None]:
    """The formats in schemas that are not validated, each once. With `ranged`, formats of numbers count too."""
    found = dict[str, None]()
    for version in obj.get("spec", {}).get("versions") or ():
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        for one in every(schema) if schema else ():
            kind, form = one.get("type", ""), one.get("format", "")
            if form and (ranged or kind == "string") and not known_format(kind, form):
                found[form] = None
    return found


def _sets(obj: JsonObject) -> list[str]:
    """Warnings for lists of type "set" whose items are objects or arrays."""
    found = set[str]()
    for version in obj.get("spec", {}).get("versions") or ():
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        for one in every(schema) if schema else ():
            items = one.get("items")
            if one.get("x-kubernetes-list-type") == "set" and isinstance(items, dict):
                found.add(items.get("type", ""))
    text = (
        "x-kubernetes-list-type: set for items of type {} is not supported by server-side apply or CEL validation rules"
    )
    return [text.format(go_quote(kind)) for kind in ("array", "object") if kind in found]


def strategies(enabled: Enabled) -> dict[str, Strategy]:
    """The strategies, which depend on changes of warnings, of messages and of field ownership."""
    ranged, warns_of_sets = enabled("CRDNumberFormats"), enabled("SetsOfObjectsWarned")

    def validate(obj: JsonObject, context: WriteContext) -> list[FieldError]:
        return _name(obj) + validate_definition(obj, None, _rules_of(None, enabled))

    def validate_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
        return validate_definition(obj, old, _rules_of(old, enabled))

    def warnings(obj: JsonObject, context: WriteContext) -> Iterable[str]:
        unknown = (f"unrecognized format {go_quote(form)}" for form in _formats(obj, ranged))
        return chain(unknown, _sets(obj)) if warns_of_sets else unknown

    def update_warnings(obj: JsonObject, old: JsonObject, context: WriteContext) -> Iterable[str]:
        before = _formats(old, ranged)
        unknown = (f"unrecognized format {go_quote(form)}" for form in _formats(obj, ranged) if form not in before)
        return chain(unknown, set_warnings(obj, old)) if warns_of_sets else unknown

    def set_warnings(obj: JsonObject, old: JsonObject) -> Iterable[str]:
        before = _sets(old)
        return [text for text in _sets(obj) if text not in before]

    return {
        "": Strategy(
            prepare_for_create=_prepare_for_create,
            prepare_for_update=_prepare_for_update,
            validate=validate,
            validate_update=validate_update,
            warnings_on_create=warnings,
            warnings_on_update=update_warnings,
            allow_unconditional_update=False,
            standard_finalizers=False,
            reset_fields=(("status",),),
            governs=True,
            weight=_WEIGHT,
            termination=Termination(_begin_termination, finalizers=lambda obj: (), propagates=False),
        ),
        "status": Strategy(
            prepare_for_update=keep_spec,
            validate_update=_validate_status,
            allow_unconditional_update=False,
            standard_finalizers=False,
            reset_fields=(("spec",),) if enabled("CRDStatusOwnsMetadata") else (("metadata",), ("spec",)),
        ),
    }
