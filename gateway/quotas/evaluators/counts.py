"""Objects that are only counted ("Resource Quotas", "Object count quota")."""

from __future__ import annotations

from functools import partial

from gateway.jsontypes import JsonObject
from gateway.kinds.attributes import Operation
from gateway.quotas.amounts import ONE, Amounts
from gateway.quotas.evaluator import Classes, EvaluatedWrite, Evaluator, count_name

ALIASES = {
    ("", "configmaps"): "configmaps",
    ("", "resourcequotas"): "resourcequotas",
    ("", "replicationcontrollers"): "replicationcontrollers",
    ("", "secrets"): "secrets",
}
"""Resources that had a quota name before there were names with `count/`."""


def counting(group: str, resource: str) -> Evaluator:
    """The evaluator of a resource that is only counted."""
    names = {count_name(group, resource)}
    if alias := ALIASES.get((group, resource)):
        names.add(alias)
    return Evaluator(group, resource, frozenset(names), partial(_one, dict.fromkeys(names, ONE)), is_create)


def _one(used: Amounts, obj: JsonObject, classes: Classes) -> Amounts:
    return used


def is_create(write: EvaluatedWrite) -> bool:
    """Whether a write creates an object."""
    return not write.subresource and write.operation is Operation.CREATE


def is_create_or_update(write: EvaluatedWrite) -> bool:
    """Whether a write creates or updates an object itself, not a subresource."""
    return not write.subresource and write.operation in (Operation.CREATE, Operation.UPDATE)
