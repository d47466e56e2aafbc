"""The strategy of custom objects: preparation for create and update, and validation.

It works as kube-apiserver's strategies of custom resources, on objects in the version of the request.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import cache, cached_property
from itertools import islice
from typing import Any

from gateway.cel.correlation import Correlation
from gateway.cel.editions import edition_of
from gateway.cel.rules import SchemaRules, TooCostly, compile_schema
from gateway.customresources.finalizers import finalizer_warnings
from gateway.customresources.keyed_lists import compile_lists
from gateway.jsontypes import JsonObject, Whole, dumps, identical
from gateway.kinds.identity import GroupVersionKind
from gateway.kinds.scale_paths import ScalePaths
from gateway.kinds.strategy import Strategy
from gateway.kinds.write_context import WriteContext
from gateway.release.gates import Enabled
from gateway.time_limits import RULES_ON_LOOP, TakesLong, on_loop
from gateway.validation.effort import TOLD
from gateway.validation.embedded_objects import compile_embedded
from gateway.validation.field import FieldError, invalid
from gateway.validation.objectmeta import validate_object_meta_update
from gateway.validation.rule_text import LONG_RULES, length_of_rules
from gateway.validation.schema_values import Check, compile_check
from gateway.validation.structural_schema import every

_BLOCKING = frozenset(
    {"FieldValueNotSupported", "FieldValueRequired", "FieldValueTooLong", "FieldValueTooMany", "FieldValueTypeInvalid"}
)
_TERMINATING = "create not allowed while custom resource definition is terminating"
_NOT_CHECKED = (
    "some validation rules were not checked because the object was invalid; correct the existing errors to complete "
    "validation"
)
# The time to validate a byte with CEL rules, as a multiple of the time without. CEL cost limits apply besides.
_WITH_RULES = 8

_MANY = 400  # nodes of a schema that takes too long to compile on an event loop

STATUS_RESETS = ("metadata",), ("spec",)

Find = Callable[[Any, str], list[FieldError]]  # a value and its path -> its errors


class VersionRules:
    """The validation of one version of a kind. The schema is compiled at the first write."""

    def __init__(
        self,
        gvk: GroupVersionKind,
        schema: JsonObject,
        subresources: JsonObject,
        *,
        terminating: bool,
        enabled: Enabled,
    ) -> None:
        self._gvk, self._schema, self._terminating = gvk, schema, terminating
        self._ranged, self._shows_values = enabled("CRDNumberFormats"), enabled("CELMessagesShowValues")
        self._enabled = enabled
        self._status_resets = STATUS_RESETS if enabled("CustomResourceStatusOwnsNoMetadata") else STATUS_RESETS[1:]
        self._has_status = "status" in subresources
        status = (schema.get("properties") or {}).get("status") or {}
        self._defaults_status = self._has_status and status.get("default") is not None  # such a default is not stored
        self._scale = ScalePaths.of(subresources)
        self._compiled = False

    def strategy(self, subresource: str = "") -> Strategy:
        """The strategy of the objects, or of a subresource. It refers to this object."""
        match subresource:
            case "status":
                return self._of_status()
            case "scale":  # a write of a Scale is validated as a write of the object
                return Strategy()
            case _:
                return self._of_objects()

    def _of_objects(self) -> Strategy:
        return Strategy(
            prepare_for_create=self._prepare_for_create,
            prepare_for_update=self._prepare_for_update,
            validate=self._validate,
            validate_update=self._validate_update,
            warnings_on_create=lambda obj, context: finalizer_warnings(obj, None),
            warnings_on_update=lambda obj, old, context: finalizer_warnings(obj, old),
            allow_unconditional_update=False,
            weight=self._weight,
            reset_fields=(("status",),) if self._has_status else (),
            rechecks_metadata=False,
            standard_finalizers=False,
            reread=self._defaults_status,
            refuse_creation=_TERMINATING if self._terminating else "",
        )

    def _of_status(self) -> Strategy:
        return Strategy(
            prepare_for_update=self._prepare_status,
            validate_update=self._validate_status,
            warnings_on_update=lambda obj, old, context: finalizer_warnings(obj, old),
            allow_unconditional_update=False,
            weight=self._weight,
            reset_fields=self._status_resets,
            reread=self._defaults_status,
            rechecks_metadata=False,
            standard_finalizers=False,
        )

    # compilation of the schema

    def _compile(self) -> None:
        """Compiles the schema, once. Raises TakesLong."""
        if self._compiled:
            return
        if on_loop() and len(list(islice(every(self._schema), _MANY))) == _MANY:
            raise TakesLong
        if on_loop() and length_of_rules(self._schema) > LONG_RULES:
            raise TakesLong
        _ = self._values, self._status_values, self._cel, self._embedded, self._lists
        self._compiled = True

    @cached_property
    def _values(self) -> Check:
        return compile_check(self._schema, ranged=self._ranged)

    @cached_property
    def _status_values(self) -> Check | None:
        schema = (self._schema.get("properties") or {}).get("status")
        return None if schema is None else compile_check(schema, ranged=self._ranged)

    @cached_property
    def _cel(self) -> SchemaRules | None:
        return compile_schema(self._schema, shows_values=self._shows_values, edition=edition_of(self._enabled))

    @cached_property
    def _weight(self) -> int:
        return _WITH_RULES if b'"x-kubernetes-validations"' in dumps(self._schema) else 1

    @cached_property
    def _embedded(self) -> Find | None:
        return compile_embedded(self._schema)

    @cached_property
    def _lists(self) -> Find | None:
        return compile_lists(self._schema)

    # preparation

    def _prepare_for_create(self, obj: JsonObject, context: WriteContext) -> None:
        if self._has_status:
            obj.pop("status", None)
        obj["metadata"]["generation"] = 1

    def _prepare_for_update(self, obj: JsonObject, old: JsonObject, context: WriteContext) -> None:
        if self._has_status:
            if "status" in old:
                obj["status"] = deepcopy(old["status"])
            else:
                obj.pop("status", None)
        if not _same_but_metadata(obj, old):
            obj["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1

    def _prepare_status(self, obj: JsonObject, old: JsonObject, context: WriteContext) -> None:
        """Keeps all of the old object in a status update, except the status and managedFields."""
        has_status, status = "status" in obj, obj.get("status")
        managed = obj["metadata"].get("managedFields")
        obj.clear()
        obj.update(deepcopy(old))
        obj["metadata"].pop("managedFields", None)
        if managed is not None:
            obj["metadata"]["managedFields"] = managed
        obj.pop("status", None)
        if has_status:
            obj["status"] = status

    # validation

    def _validate(self, obj: JsonObject, context: WriteContext) -> list[FieldError]:
        found = self._type_meta(obj)
        if found:
            return found
        found += self._values(obj, "", None)
        found += self._scale.spec_errors(obj) + self._scale.status_errors(obj)
        found += self._parts(obj, None)
        return found + self._rule_errors(obj, None, found, context)

    def _validate_update(self, obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
        found = self._type_meta(obj)
        if found:
            return found
        found += validate_object_meta_update(obj["metadata"], old["metadata"], built_in=False)
        found += self._values(obj, "", Correlation(obj, old, self._schema))
        found += self._scale.spec_errors(obj) + self._scale.status_errors(obj)
        found += self._parts(obj, old)
        return found + self._rule_errors(obj, old, found, context)

    def _validate_status(self, obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
        found = self._type_meta(obj)
        if found:
            return found
        found += validate_object_meta_update(obj["metadata"], old["metadata"], built_in=False)
        if "status" in obj and self._status_values is not None:
            was = Correlation(obj["status"], old.get("status"), self._schema["properties"]["status"])
            found += [_in_status(error) for error in self._status_values(obj["status"], "", was)]
        found += self._scale.status_errors(obj)
        found += self._list_errors(obj, old)
        return found + self._rule_errors(obj, old, found, context)

    def _type_meta(self, obj: JsonObject) -> list[FieldError]:
        self._compile()
        found = []
        for key, wanted in (("kind", self._gvk.kind), ("apiVersion", self._gvk.api_version)):
            if obj.get(key) != wanted:
                found.append(invalid(key, obj.get(key, ""), f"must be {wanted}"))
        return found

    def _parts(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        found = [] if self._embedded is None else self._embedded(obj, "")
        return found + self._list_errors(obj, old)

    def _list_errors(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """Errors for duplicate items of sets and keyed lists; none if the old object has duplicates already."""
        lists = self._lists
        if lists is None:
            return []
        found = lists(obj, "")
        return [] if found and old is not None and lists(old, "") else found

    def _rule_errors(
        self, obj: JsonObject, old: JsonObject | None, found: Sequence[FieldError], context: WriteContext
    ) -> list[FieldError]:
        rules = self._cel
        if rules is None:
            return []
        if any(error.reason in _BLOCKING or error.detail == TOLD for error in (*context.metadata_errors, *found)):
            return [FieldError("FieldValueInvalid", "<nil>", f"Invalid value: null: {_NOT_CHECKED}")]
        patience = RULES_ON_LOOP if on_loop() else None
        try:
            errors, warnings = rules.validate(obj, old, ratchet=old is not None, patience=patience)
        except TooCostly:
            raise TakesLong from None
        context.warn(map(str, warnings))
        return errors


def strategies_of(rules: VersionRules) -> Callable[[str], Strategy]:
    """A function that returns the strategy of a subresource, and caches it.

    The cache is not in the rules: strategies refer to the rules, so that would be a reference cycle.
    """
    return cache(rules.strategy)


def _in_status(error: FieldError) -> FieldError:
    field = "status" if error.field == "<nil>" else f"status.{error.field}"
    return error.at(field)


def _same_but_metadata(obj: JsonObject, old: JsonObject) -> bool:
    one = {key: value for key, value in obj.items() if key != "metadata"}
    other = {key: value for key, value in old.items() if key != "metadata"}
    return identical(one, other) and not _has_floats(one)


def _has_floats(value: Any) -> bool:
    """Whether a value has a float like 1.0 that fits 64 bits. In Go it differs from the stored integer 1."""
    if isinstance(value, dict):
        return any(map(_has_floats, value.values()))
    if type(value) is list:
        return any(map(_has_floats, value))
    return type(value) is Whole and -(2**63) <= value < 2**63
