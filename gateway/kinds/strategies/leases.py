"""Leases: durations and transitions (page "Leases")."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.kinds.strategy import Strategy, on_update
from gateway.kinds.write_context import WriteContext
from gateway.validation.field import FieldError, forbidden, invalid, not_supported
from gateway.validation.formats import NOT_NEGATIVE, validate_qualified_name

OLDEST = "OldestEmulationVersion"


def judge_strategy(strategy: str) -> list[FieldError]:
    """The errors of a strategy by which a leader is elected: of a Lease, or of a LeaseCandidate."""
    if "/" in strategy:
        return validate_qualified_name("spec.strategy.strategy", strategy)
    return [] if strategy == OLDEST else [not_supported("spec.strategy.strategy", strategy, (OLDEST,))]


def _validate(obj: JsonObject, context: WriteContext) -> list[FieldError]:
    spec, found = obj.get("spec", {}), list[FieldError]()
    duration, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    if duration is not None and duration <= 0:
        found.append(invalid("spec.leaseDurationSeconds", duration, "must be greater than 0"))
    if transitions is not None and transitions < 0:
        found.append(invalid("spec.leaseTransitions", transitions, NOT_NEGATIVE))
    strategy = spec.get("strategy")
    if strategy is not None:
        found += judge_strategy(strategy)
    if spec.get("preferredHolder") and not strategy:
        found.append(forbidden("spec.preferredHolder", "may only be specified if `strategy` is defined"))
    return found


STRATEGIES = {
    "": Strategy(
        validate=_validate,
        validate_update=on_update(_validate),
        standard_finalizers=False,
        allow_create_on_update=True,
        allow_unconditional_update=False,
    )
}
