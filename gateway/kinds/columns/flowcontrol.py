"""Columns of flow schemas, which are listed by precedence, and of priority levels."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.kinds.columns.model import AGE, NAME, NONE, Cell, Columns, age, column, name_of, part

_GROUP = "flowcontrol.apiserver.k8s.io"


def _flow_schema(obj: JsonObject) -> list[Cell]:
    spec = part(obj, "spec")
    dangling = [one for one in part(obj, "status").get("conditions") or () if one.get("type") == "Dangling"]
    method = spec.get("distinguisherMethod")
    return [
        name_of(obj),
        part(spec, "priorityLevelConfiguration").get("name", ""),
        spec.get("matchingPrecedence", 0),
        NONE if method is None else method.get("type", ""),
        age(obj),
        dangling[0].get("status", "") if dangling else "?",
    ]


def _precedence(obj: JsonObject) -> tuple[int, str]:
    return part(obj, "spec").get("matchingPrecedence", 0), name_of(obj)


def _priority_level(obj: JsonObject) -> list[Cell]:
    spec = part(obj, "spec")
    limited = spec.get("limited")
    shares: Cell = NONE if limited is None else limited.get("nominalConcurrencyShares", 0)
    queuing = part(limited or {}, "limitResponse").get("queuing")
    queues = ("queues", "handSize", "queueLengthLimit")
    return [
        name_of(obj),
        spec.get("type", ""),
        shares,
        *[NONE if queuing is None else queuing.get(name, 0) for name in queues],
        age(obj),
    ]


COLUMNS = {
    (_GROUP, "FlowSchema"): Columns(
        (
            NAME,
            column("PriorityLevel", "flowcontrol.v1.PriorityLevelConfigurationReference.name"),
            column("MatchingPrecedence", "flowcontrol.v1.FlowSchemaSpec.matchingPrecedence"),
            column("DistinguisherMethod", "flowcontrol.v1.FlowSchemaSpec.distinguisherMethod"),
            AGE,
            column("MissingPL"),
        ),
        _flow_schema,
        order=_precedence,
    ),
    (_GROUP, "PriorityLevelConfiguration"): Columns(
        (
            NAME,
            column("Type", "flowcontrol.v1.PriorityLevelConfigurationSpec.type"),
            column(
                "NominalConcurrencyShares", "flowcontrol.v1.LimitedPriorityLevelConfiguration.nominalConcurrencyShares"
            ),
            column("Queues", "flowcontrol.v1.QueuingConfiguration.queues"),
            column("HandSize", "flowcontrol.v1.QueuingConfiguration.handSize"),
            column("QueueLengthLimit", "flowcontrol.v1.QueuingConfiguration.queueLengthLimit"),
            AGE,
        ),
        _priority_level,
    ),
}
