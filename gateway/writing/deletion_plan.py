"""Decides whether a delete marks an object with a deletionTimestamp or removes it (API Concepts, "Resource deletion").

The rules are those of apiserver's `rest.BeforeDelete` and of its generic registry store. They depend on the object, the
kind's strategy, the delete options, the clock, and on whether a garbage collector runs.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import Enum

from gateway.jsontypes import JsonObject
from gateway.kinds.metadata import seconds_of, time_text
from gateway.kinds.strategy import Dependents, Strategy
from gateway.writing.options import DeleteOptions

ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"


class Step(Enum):
    """What a delete does to the stored object."""

    NOTHING = "nothing"  # its deletion is in progress already
    MARK = "mark"  # it stays, with a deletionTimestamp
    MARK_AND_REMOVE = "mark and remove"  # watches see the mark first
    REMOVE = "remove"


@dataclass(frozen=True, slots=True)
class Plan:
    """The step to take; `obj` is the marked object."""

    step: Step
    obj: JsonObject


def is_under_way(strategy: Strategy, obj: JsonObject, options: DeleteOptions) -> bool:
    """Whether the deletion of an object is in progress already, so that this delete changes nothing."""
    meta = obj["metadata"]
    if not meta.get("deletionTimestamp"):
        return False
    if strategy.termination is not None and strategy.termination.finalizers(obj):
        return True
    left, asked = meta.get("deletionGracePeriodSeconds"), options.grace_period
    if strategy.grace_period is None or not left:
        return False
    return asked is None or (asked if asked >= 0 else 1) >= left


def plan(strategy: Strategy, obj: JsonObject, options: DeleteOptions, *, collected: bool) -> Plan:
    """Decides what a delete does to `obj`. Sets its deletionTimestamp and finalizers in place if it is to be marked.

    `collected`: whether a garbage collector runs, which removes the finalizers of propagation policies.
    """
    meta = obj["metadata"]
    if is_under_way(strategy, obj, options):
        return Plan(Step.NOTHING, obj)
    if strategy.termination is not None and not meta.get("deletionTimestamp"):
        strategy.termination.begin(obj, time_text(int(time.time())))
        if collected and strategy.termination.propagates:
            _set_finalizers(meta, _asked_finalizers(meta, options))
        return Plan(Step.MARK, obj)
    grace = options.grace_period if options.grace_period is None or options.grace_period >= 0 else 1
    graceful = False
    if strategy.grace_period is not None:
        if meta.get("deletionTimestamp"):
            if meta.get("deletionGracePeriodSeconds"):
                assert grace is not None
                grace = _shorten(meta, grace)
                graceful = True
        else:
            grace = strategy.grace_period(obj, grace)
            _mark(meta, grace)
            graceful = True
    if collected:
        _set_finalizers(meta, _finalizers(strategy.dependents, meta, options))
    if meta.get("finalizers"):
        if not graceful:
            _mark_finalizing(meta)
        return Plan(Step.MARK, obj)
    if not graceful:
        return Plan(Step.REMOVE, obj)
    return Plan(Step.MARK if grace else Step.MARK_AND_REMOVE, obj)


def _mark(meta: JsonObject, grace: int) -> None:
    meta["deletionTimestamp"] = time_text(int(time.time()) + grace)
    meta["deletionGracePeriodSeconds"] = grace
    if meta.get("generation"):
        meta["generation"] += 1


def _shorten(meta: JsonObject, grace: int) -> int:
    """Sets an earlier deletionTimestamp, at the earliest now. Returns the new grace period in seconds."""
    now = int(time.time())
    moment = seconds_of(meta["deletionTimestamp"]) - meta["deletionGracePeriodSeconds"] + grace
    if moment < now:
        moment = now
        grace = 1 if grace else 0
    meta["deletionTimestamp"] = time_text(moment)
    meta["deletionGracePeriodSeconds"] = grace
    return grace


def _mark_finalizing(meta: JsonObject) -> None:
    """Marks an object that has finalizers and no grace period."""
    now = int(time.time())
    marked = meta.get("deletionTimestamp")
    if not marked and meta.get("generation"):
        meta["generation"] += 1
    if not marked or seconds_of(marked) > now:
        meta["deletionTimestamp"] = time_text(now)
    meta["deletionGracePeriodSeconds"] = 0


def _finalizers(dependents: Dependents, meta: JsonObject, options: DeleteOptions) -> list[str]:
    """The finalizers that the object should have under the requested propagation policy."""
    present: list[str] = meta.get("finalizers") or []
    wanted = [name for name in present if name not in (ORPHAN, FOREGROUND)]
    if dependents is Dependents.NONE:
        return wanted
    if options.orphan_dependents is not None:
        policy = ORPHAN if options.orphan_dependents else ""
    elif options.propagation is not None:
        policy = {"Orphan": ORPHAN, "Foreground": FOREGROUND}.get(options.propagation, "")
    else:
        policy = next((name for name in present if name in (ORPHAN, FOREGROUND)), "")
        if not policy and dependents is Dependents.ORPHAN:
            policy = ORPHAN
    return [*wanted, policy] if policy else wanted


def _asked_finalizers(meta: JsonObject, options: DeleteOptions) -> list[str]:
    """As `_finalizers`, for a kind that has its own termination phase, such as Namespace.

    The kind's default policy does not count, and orphanDependents=false means Foreground here.
    """
    present: list[str] = meta.get("finalizers") or []
    if options.orphan_dependents is not None:
        policy = ORPHAN if options.orphan_dependents else FOREGROUND
    elif options.propagation is not None:
        policy = {"Orphan": ORPHAN, "Foreground": FOREGROUND}.get(options.propagation, "")
    else:
        return present
    others = [name for name in present if name not in (ORPHAN, FOREGROUND)]
    return [*others, policy] if policy else others


def _set_finalizers(meta: JsonObject, wanted: list[str]) -> None:
    if set(wanted) == set(meta.get("finalizers") or ()):
        return
    if wanted:
        meta["finalizers"] = wanted
    else:
        meta.pop("finalizers", None)


def finalized(strategy: Strategy, obj: JsonObject, old: JsonObject) -> bool:
    """Whether an updated object that is being deleted has no finalizers and no grace period left.

    The update then removes it (API Concepts, "Resource deletion").
    """
    meta, old_meta = obj["metadata"], old["metadata"]
    if strategy.termination is not None and strategy.termination.finalizers(obj):
        return False
    waits = meta.get("finalizers") or old_meta.get("deletionGracePeriodSeconds")
    return bool(old_meta.get("deletionTimestamp")) and not waits
