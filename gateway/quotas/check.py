"""Whether a write fits into the quotas of its namespace, and what it charges to each ("Resource Quotas").

A pure function of the write and the quotas, with the order of checks and the messages of kube-apiserver.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gateway.kinds.attributes import Operation
from gateway.quotas.amounts import (
    Amounts,
    increase,
    only,
    plus,
    shown,
    shown_names,
    without_zeros,
)
from gateway.quotas.evaluator import Classes, EvaluatedWrite, Evaluator
from gateway.quotas.limited_resources import Limited
from gateway.quotas.quota import Quota
from gateway.quotas.scopes import ScopeSelector


class Forbidden(Exception):
    """The write is refused; the message says why."""


class Exceeded(Forbidden):
    """There is no room for the write in a quota of this `revision`."""

    def __init__(self, message: str, revision: int) -> None:
        super().__init__(message)
        self.revision = revision


class Uncovered(Exception):
    """The write is in a scope that needs a quota, and no quota has that scope. kube-apiserver answers 500."""


def check(
    write: EvaluatedWrite, evaluator: Evaluator, quotas: Sequence[Quota], limited: Sequence[Limited], classes: Classes
) -> dict[Quota, Amounts]:
    """The new `used` of each quota that the write changes. Raises Forbidden, Uncovered.

    The evaluator must handle the write (`Evaluator.handles`).
    """
    if not (quotas or limited):
        return {}
    covering = [quota for quota in quotas if _covers(quota, write, evaluator, classes)]
    usage = write.usage(evaluator, classes)
    negative = [name for name, amount in usage.items() if amount.unscaled < 0]
    if negative:
        raise Forbidden(f"quota usage is negative for resource(s): {shown_names(negative)}")
    charges = _charges(write, evaluator, covering, usage, classes)
    if covering:
        if not charges:
            return {}
    elif not without_zeros(_uncovered_usage(write, evaluator, usage, classes)):
        return {}
    if limited:
        _check_limited(write, evaluator, quotas, covering, limited, usage, classes)
    return {quota: _charged(quota, amounts, write.subresource) for quota, amounts in charges.items()}


def _covers(quota: Quota, write: EvaluatedWrite, evaluator: Evaluator, classes: Classes) -> bool:
    """Whether a quota limits the object. Raises Forbidden if the object lacks requests or limits that the quota needs,
    or the quota's usage is not known yet.
    """
    names = quota.matched.get((evaluator.group, evaluator.resource))
    if names is None:
        names = evaluator.matching(quota.hard, classes)
        if not evaluator.follows_others:
            quota.matched[evaluator.group, evaluator.resource] = names
    if not names or (quota.selectors and not evaluator.is_selected(quota.selectors, write.obj)):
        return False
    if missing := write.missing(evaluator, names):
        raise Forbidden(f"failed quota: {quota.name}: {missing}")
    if not quota.knows_usage(names):
        raise Forbidden(f"status unknown for quota: {quota.name}, resources: {shown_names(names)}")
    return True


def _charges(
    write: EvaluatedWrite, evaluator: Evaluator, covering: Iterable[Quota], usage: Amounts, classes: Classes
) -> dict[Quota, Amounts]:
    """What each quota is charged: the whole usage, or by how much it grows if the old object was counted there too."""
    charges: dict[Quota, Amounts] = {}
    grown: Amounts | None = None
    for quota in covering:
        amounts = usage
        if write.old is not None and evaluator.is_selected(quota.selectors, write.old):
            if grown is None:
                grown = increase(usage, evaluator.usage(write.old, classes))
            amounts = grown
        amounts = without_zeros(amounts)
        if amounts:
            charges[quota] = amounts
    return charges


def _uncovered_usage(write: EvaluatedWrite, evaluator: Evaluator, usage: Amounts, classes: Classes) -> Amounts:
    if write.old is None:
        return usage if write.operation is Operation.CREATE else {}
    return increase(usage, evaluator.usage(write.old, classes))


def _charged(quota: Quota, amounts: Amounts, subresource: str) -> Amounts:
    requested = only(amounts, quota.hard)
    used = plus(quota.used, requested)
    if subresource != "status":
        over = [name for name in requested if used[name] > quota.hard[name]]
        if over:
            raise Exceeded(
                f"exceeded quota: {quota.name}, requested: {shown(only(requested, over))}, "
                f"used: {shown(only(quota.used, over))}, limited: {shown(only(quota.hard, over))}",
                quota.revision,
            )
    return used


def _check_limited(
    write: EvaluatedWrite,
    evaluator: Evaluator,
    quotas: Sequence[Quota],
    covering: Sequence[Quota],
    limited: Sequence[Limited],
    usage: Amounts,
    classes: Classes,
) -> None:
    """Raises Forbidden or Uncovered if `limited` demands a quota for the write, and there is none."""
    of_this = [each for each in limited if (each.group, each.resource) == (evaluator.group, evaluator.resource)]
    needed = {
        name
        for each in of_this
        for name, amount in usage.items()
        if amount.unscaled > 0 and any(part in name for part in each.contains)
    }
    for quota in covering:
        needed -= set(evaluator.matching(quota.hard, classes))
    if needed:
        raise Forbidden(f"insufficient quota to consume: {shown_names(needed)}")
    if not evaluator.has_scopes:
        return
    wanted = _matching_scopes(evaluator, write, (scope for each in limited for scope in each.scopes))
    of_quotas = (selector for quota in quotas for selector in quota.selectors)
    given = {each.scope for each in _matching_scopes(evaluator, write, of_quotas)}
    uncovered = [selector for selector in wanted if selector.scope not in given]
    if uncovered:
        raise Uncovered(f"insufficient quota to match these scopes: [{' '.join(map(str, uncovered))}]")


def _matching_scopes(
    evaluator: Evaluator, write: EvaluatedWrite, scopes: Iterable[ScopeSelector]
) -> list[ScopeSelector]:
    return [scope for scope in scopes if evaluator.in_scope(scope, write.obj)]
