"""The strategy of the five kinds of admissionregistration.k8s.io without a status; only their validation differs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gateway.jsontypes import JsonObject
from gateway.kinds.strategies.expressions import PolicyCompilers
from gateway.kinds.strategies.status import counting, first_generation
from gateway.kinds.strategy import Strategy
from gateway.kinds.write_context import WriteContext
from gateway.release.gates import Enabled
from gateway.validation.admission_rules import static_suffix_warnings
from gateway.validation.expressions import NewExpressions
from gateway.validation.field import FieldError
from gateway.validation.objectmeta import validate_object_meta

Check = Callable[[JsonObject, JsonObject | None], list[FieldError]]
CompilingCheck = Callable[[JsonObject, JsonObject | None, NewExpressions], list[FieldError]]


def compiling(check: CompilingCheck, enabled: Enabled) -> Check:
    """Turns a `CompilingCheck` into a `Check`, by passing it the compilers of CEL expressions."""
    return lambda obj, old: check(obj, old, PolicyCompilers(old, enabled))


def admission_strategy(check: Check, keys: Sequence[str] = ("spec",)) -> Strategy:
    """A strategy that validates with `check(obj, old)`; `old` is None on create.

    A change of any of `keys` increments the generation.
    """

    def validate(obj: JsonObject, context: WriteContext) -> list[FieldError]:
        return check(obj, None)

    def validate_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
        return validate_object_meta(obj["metadata"], False, standard_finalizers=False) + check(obj, old)

    return Strategy(
        prepare_for_create=first_generation,
        prepare_for_update=counting(keys, status=False),
        validate=validate,
        validate_update=validate_update,
        standard_finalizers=False,
        rechecks_metadata=False,
        warnings_on_create=lambda obj, context: static_suffix_warnings(obj),
        warnings_on_update=lambda obj, old, context: static_suffix_warnings(obj),
        allow_unconditional_update=False,
        governs=True,
    )
