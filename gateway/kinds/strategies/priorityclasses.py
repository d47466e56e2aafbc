"""PriorityClasses: the range of values, the names of system classes, immutable fields."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.kinds.strategies.status import first_generation
from gateway.kinds.strategy import Strategy
from gateway.kinds.write_context import WriteContext
from gateway.validation.checks import immutable, one_of
from gateway.validation.field import FieldError, forbidden

HIGHEST_OF_USERS = 1_000_000_000
SYSTEM_PREFIX = "system-"
SYSTEM = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}


def _system_problem(obj: JsonObject) -> str:
    name = obj["metadata"].get("name", "")
    if name not in SYSTEM:
        return f"{name} is not a known system priority class"
    if obj.get("value", 0) != SYSTEM[name]:
        return f"value of {name} PriorityClass must be {SYSTEM[name]}"
    return f"globalDefault of {name} PriorityClass must be false" if obj.get("globalDefault") else ""


def _validate(obj: JsonObject, context: WriteContext) -> list[FieldError]:
    found: list[FieldError] = []
    if obj["metadata"].get("name", "").startswith(SYSTEM_PREFIX):
        if problem := _system_problem(obj):
            message = f"priority class names with '{SYSTEM_PREFIX}' prefix are reserved for system use only."
            found.append(forbidden("metadata.name", f"{message} error: {problem}"))
    elif obj.get("value", 0) > HIGHEST_OF_USERS:
        message = f"maximum allowed value of a user defined priority is {HIGHEST_OF_USERS}"
        found.append(forbidden("value", message))
    if (policy := obj.get("preemptionPolicy")) is not None:
        found += one_of("preemptionPolicy", policy, ("PreemptLowerPriority", "Never"))
    return found


def _validate_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    found: list[FieldError] = []
    if obj.get("value", 0) != old.get("value", 0):
        found.append(forbidden("value", "may not be changed in an update."))
    return found + immutable("preemptionPolicy", obj.get("preemptionPolicy"), old.get("preemptionPolicy"))


def _refuse_deletion(name: str) -> str:
    return "this is a system priority class and cannot be deleted" if name in SYSTEM else ""


STRATEGIES = {
    "": Strategy(
        prepare_for_create=first_generation,
        validate=_validate,
        validate_update=_validate_update,
        refuse_deletion=_refuse_deletion,
    )
}
