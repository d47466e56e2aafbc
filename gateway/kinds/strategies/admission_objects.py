"""The strategy of the five kinds of admissionregistration.k8s.io without a status; only their validation differs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gateway.jsontypes import JsonObject
from gateway.kinds.strategies.expressions import PolicyCompilers
from gateway.kinds.strategies.status import counting, first_generation
from gateway.kinds.strategy import Strategy
from gateway.kinds.write_context import WriteContext
from gateway.release.gates import Enabled
from gateway.validation.admission_rules import exempt_resources_warnings, static_suffix_warnings
from gateway.validation.expressions import NewExpressions
from gateway.validation.field import FieldError
from gateway.validation.objectmeta import validate_object_meta
from gateway.validation.webhooks import validate_webhooks

Check = Callable[[JsonObject, JsonObject | None], list[FieldError]]
Warn = Callable[[JsonObject], list[str]]
CompilingCheck = Callable[[JsonObject, JsonObject | None, NewExpressions], list[FieldError]]


def compiling(check: CompilingCheck, enabled: Enabled) -> Check:
    """Turns a `CompilingCheck` into a `Check`, by passing it the compilers of CEL expressions."""
    return lambda obj, old: check(obj, old, PolicyCompilers(old, enabled))


def webhooks_strategy(enabled: Enabled) -> Strategy:
    """The strategy of webhook configurations; expressions may use the CEL functions of the release."""
    warn = static_suffix_warnings
    if enabled("ExcludeAdmissionWebhookVirtualResources"):

        def warn(obj: JsonObject) -> list[str]:
            return static_suffix_warnings(obj) + exempt_resources_warnings(obj)

    return admission_strategy(compiling(validate_webhooks, enabled), ("webhooks",), warn)


def admission_strategy(check: Check, keys: Sequence[str] = ("spec",), warn: Warn = static_suffix_warnings) -> Strategy:
    """A strategy that validates with `check(obj, old)`; `old` is None on create.

    A change of any of `keys` increments the generation. `warn` returns the warnings about a written object.
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
        warnings_on_create=lambda obj, context: warn(obj),
        warnings_on_update=lambda obj, old, context: warn(obj),
        allow_unconditional_update=False,
        governs=True,
    )
