"""The flow schemas and priority levels that are in force, kept up to date from the watch cache."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from operator import attrgetter

from gateway.flowcontrol.fair_queuing import Queuing
from gateway.flowcontrol.flow_schema_rules import Matches, compile_rules
from gateway.flowcontrol.level import PriorityLevel
from gateway.flowcontrol.objects import CATCH_ALL, EXEMPT, LEVELS, default_levels, default_schemas
from gateway.flowcontrol.sharing import SeatLimits, nominal_limits
from gateway.flowcontrol.shuffle_shards import flow_hash, hand
from gateway.http.request_info import RequestInfo
from gateway.http.user import User
from gateway.jsontypes import JsonObject
from gateway.memo import Memory
from storage.followers import ByName

_NAME = "priority-and-fairness"  # in logs and metrics
MANDATORY = (EXEMPT, CATCH_ALL)
_FLOW_SIZE = 1000  # bytes of a cached flow and its key, beside the user and the path
_MEMORABLE = 512  # characters of the longest path whose flow is cached
_DEFAULT_SHARES = 30

Header = tuple[bytes, bytes]


@dataclass(frozen=True, slots=True)
class Schema:
    """A flow schema: which requests it matches, and the priority level that they go to."""

    name: str
    uid: str
    precedence: int
    level: str
    by: str  # the method by which requests are divided into flows: "", "ByUser" or "ByNamespace"
    matches: Matches = field(compare=False)

    def distinguisher(self, user: User, info: RequestInfo) -> str:
        """The flow distinguisher of a request: its user or namespace; "" if the schema has one flow."""
        match self.by:
            case "ByUser":
                return user.name
            case "ByNamespace":
                return info.namespace
        return ""


@dataclass(frozen=True, slots=True)
class Flow:
    """The flow of a request. `hand` are the indexes of the queues that it may wait in; `headers` are for the answer."""

    schema: str
    level: PriorityLevel
    hand: tuple[int, ...]
    headers: tuple[Header, ...]


class FlowConfiguration:
    """Finds each request's flow. `schemas` and `stored_levels` follow the objects of the cluster by name."""

    def __init__(self, seats: int) -> None:
        """`seats` is the number of all seats of the server."""
        self.seats = seats
        self.levels: dict[str, PriorityLevel] = {}
        self.schemas: ByName[Schema] = ByName(
            _NAME, lambda entry, _: _schema_of(entry.parsed()), self._changed, "flow schema"
        )
        self.stored_levels: ByName[JsonObject] = ByName(
            _NAME, lambda entry, _: _level(entry.parsed()), self._changed, "priority level"
        )
        self._ordered: list[Schema] = []
        self._found: Memory[tuple[object, ...], Flow] = Memory()
        self._rebuild()

    def put(self, resource: str, obj: JsonObject) -> None:
        """Adds a flow schema or priority level, or replaces the one of its name."""
        name = obj["metadata"]["name"]
        if resource == LEVELS:
            self.stored_levels.all[name] = _level(obj)
        else:
            self.schemas.all[name] = _schema_of(obj)
        self._rebuild()

    def _changed(self, names: Collection[str], revision: int) -> None:
        self._rebuild()

    def _rebuild(self) -> None:
        """Puts a change in force. The mandatory objects are in force even if they are not stored."""
        specs = {name: obj.get("spec") or {} for name, obj in self.stored_levels.all.items()}
        specs = {name: spec for name, spec in default_levels() if name in MANDATORY} | specs
        schemas = {name: _schema(name, "", spec) for name, spec in default_schemas() if name in MANDATORY}
        self.levels = {name: self.levels.get(name) or PriorityLevel(name) for name in specs}
        for name, level in self.levels.items():
            level.uid = self.stored_levels.all.get(name, {}).get("metadata", {}).get("uid", "")
            _configure(level, specs[name])
        total = sum(level.shares for level in self.levels.values())
        for level in self.levels.values():
            limits = nominal_limits(self.seats, level.shares, total, level.lendable, level.borrowing)
            _limit(level, limits)
        known = [each for each in (schemas | self.schemas.all).values() if each.level in self.levels]
        self._ordered = sorted(known, key=attrgetter("precedence", "name"))
        names = {each.name for each in known}
        for level in self.levels.values():
            level.forget_others(names)
        self._found.clear()

    def flow(self, user: User, info: RequestInfo) -> Flow:
        """The flow of a user's request."""
        if info.is_resource:
            question: tuple[object, ...] = (
                user, info.verb, info.resource, info.namespace, info.group, info.subresource,
            )  # fmt: skip
        else:
            question = user, info.verb, info.path
        found = self._found.get(question)
        if found is None:
            found = self._find(user, info)
            if len(info.path) <= _MEMORABLE:
                self._found.keep(question, found, user.size + len(info.path) + _FLOW_SIZE)
        return found

    def _find(self, user: User, info: RequestInfo) -> Flow:
        schema = next((each for each in self._ordered if each.matches(user, info)), None)
        if schema is None:
            schema = next(each for each in self._ordered if each.name == CATCH_ALL)
        level = self.levels[schema.level]
        queuing = level.queuing
        number = flow_hash(schema.name, schema.distinguisher(user, info))
        dealt = hand(number, queuing.queues, queuing.hand_size) if queuing.queues else (0,)
        headers = (
            (b"x-kubernetes-pf-flowschema-uid", schema.uid.encode()),
            (b"x-kubernetes-pf-prioritylevel-uid", level.uid.encode()),
        )
        return Flow(schema.name, level, dealt, headers)


def _schema_of(obj: JsonObject) -> Schema:
    """A flow schema. Raises an error for an invalid spec."""
    meta = obj["metadata"]
    schema = _schema(meta["name"], meta.get("uid", ""), obj.get("spec") or {})
    _wanted(str, schema.uid, schema.level, schema.by)
    _wanted(int, schema.precedence)
    return schema


def _level(obj: JsonObject) -> JsonObject:
    """A priority level. Raises an error for an invalid spec."""
    _wanted(str, obj["metadata"].get("uid", ""))
    _check(obj.get("spec") or {})
    return obj


def _wanted(wanted: type, *values: object) -> None:
    """Raises TypeError for a value of another type: an object may have been written to etcd without validation."""
    for value in values:
        if type(value) is not wanted:
            raise TypeError(f"{value!r:.100} is no {wanted.__name__}")


def _schema(name: str, uid: str, spec: JsonObject) -> Schema:
    return Schema(
        name,
        uid,
        spec.get("matchingPrecedence", 1000),
        (spec.get("priorityLevelConfiguration") or {}).get("name", ""),
        (spec.get("distinguisherMethod") or {}).get("type", ""),
        compile_rules(spec.get("rules") or ()),
    )


def _configure(level: PriorityLevel, spec: JsonObject) -> None:
    level.exempt = spec.get("type") == "Exempt"
    part = _part(spec)
    level.shares = part.get("nominalConcurrencyShares", 0 if level.exempt else _DEFAULT_SHARES)
    level.lendable, level.borrowing = part.get("lendablePercent", 0), part.get("borrowingLimitPercent")
    wanted = _queuing(part)
    if wanted != level.queuing:
        level.queue_up(wanted)


def _part(spec: JsonObject) -> JsonObject:
    return spec.get("exempt" if spec.get("type") == "Exempt" else "limited") or {}


def _queuing(part: JsonObject) -> Queuing:
    response = part.get("limitResponse") or {}
    queuing = response.get("queuing") if response.get("type") == "Queue" else None
    if queuing is None:
        return Queuing()
    return Queuing(queuing.get("queues", 64), queuing.get("handSize", 8), queuing.get("queueLengthLimit", 50))


def _check(spec: JsonObject) -> None:
    """Raises ValueError, TypeError or AttributeError for an invalid spec of a priority level."""
    part = _part(spec)
    queuing = _queuing(part)
    borrowing = part.get("borrowingLimitPercent")
    numbers = (part.get("nominalConcurrencyShares", 0), part.get("lendablePercent", 0), queuing.queues, queuing.length)
    _wanted(int, *numbers, queuing.hand_size, 0 if borrowing is None else borrowing)
    if min(*numbers, borrowing or 0) < 0:
        raise ValueError("a number is negative")
    if queuing.queues and not 0 < queuing.hand_size <= queuing.queues:
        raise ValueError(f"{queuing.hand_size} of {queuing.queues} queues can't be dealt")


def _limit(level: PriorityLevel, limits: SeatLimits) -> None:
    if limits != level.limits:
        level.limits, level.limit = limits, limits.nominal
        level.dispatch()
