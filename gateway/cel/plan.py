"""The planner: makes closures of a checked syntax tree.

A closure takes a frame and returns a value or raises EvaluationError. Fixed costs, known when planning, are added up
(`Planner.measured`). They are charged once at the start, at each branch, and in each iteration of a loop. Other costs
are charged where they arise. So a rule that compares a few fields charges once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gateway.cel.ast import ListLiteral, MapEntry, MapLiteral, Node, StructLiteral
from gateway.cel.costs import LIST_BASE, MAP_BASE, STRUCT_BASE
from gateway.cel.environment import Environment
from gateway.cel.meter import FIRST_VARIABLE, Frame
from gateway.cel.schema_types import SchemaTypes
from gateway.cel.types import CelType, Kind
from gateway.cel.values import EvaluationError, Optional, type_name

Evaluate = Callable[[Frame], Any]
# the planner function of each node class
Planners = Mapping[type[Node], Callable[["Planner", Any], Evaluate]]
# returns a value of the declared type, maybe converted; raises EvaluationError for a value that does not fit
Inspect = Callable[[Any, CelType], Any]


@dataclass(frozen=True, slots=True)
class Trust:
    """How far the values of variables can be trusted to be of their declared types.

    `raw`: values may be plain JSON values of other types. `inspect` is called for each computed value.
    """

    raw: bool = False
    inspect: Inspect | None = None


TYPED = Trust()


class Constant:
    """A closure that returns a constant."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __call__(self, frame: Frame) -> Any:
        """See Evaluate."""
        return self.value


class Planner:
    """Plans one expression. The frame has the variables of its environment, in their order."""

    __slots__ = ("_planners", "_scopes", "edition", "fixed", "inspect", "makers", "nests", "raw", "size", "structs")

    def __init__(self, environment: Environment, planners: Planners, trust: Trust) -> None:
        variables, structs = list(environment.variables), environment.structs
        self._planners, self.edition = planners, environment.edition
        self.inspect, self.raw = trust.inspect, trust.raw
        self._scopes = [{name: at for at, name in enumerate(variables, FIRST_VARIABLE)}]
        self.size = FIRST_VARIABLE + len(variables)
        self.structs = structs if isinstance(structs, SchemaTypes) else None
        self.makers = structs.maker
        self.fixed = 0
        self.nests = False  # whether an expression planned so far may put lists or maps into lists or maps

    def slot(self, name: str) -> int:
        """The index of a variable in the frame."""
        for scope in reversed(self._scopes):
            if name in scope:
                return scope[name]
        raise KeyError(name)

    def enter(self, *names: str) -> list[int]:
        """Opens a scope with these variables, and returns their indices in the frame."""
        slots = [self.size + at for at in range(len(names))]
        self._scopes.append(dict(zip(names, slots, strict=True)))
        self.size += len(names)
        return slots

    def put_within(self, element: CelType) -> None:
        """Notes that the expression puts values of this type into a list or a map."""
        self.nests = self.nests or element.kind in _NESTING

    def leave(self) -> None:
        """Closes the innermost scope."""
        self._scopes.pop()

    def measured(self, node: Node, plan: Callable[[Node], Evaluate] | None = None) -> tuple[Evaluate, int]:
        """The closure of a node, and its fixed cost. The caller must charge that cost."""
        before, self.fixed = self.fixed, 0
        planned = (plan or self.plan)(node)
        cost, self.fixed = self.fixed, before
        return planned, cost

    def plan(self, node: Node) -> Evaluate:
        """The closure that computes a node."""
        planned = self._planners[type(node)](self, node)
        inspect, of = self.inspect, node.type
        if inspect is None or isinstance(planned, Constant):
            return planned
        return lambda frame: inspect(planned(frame), of)


_NO_FRAME: Frame = []
_NESTING = {Kind.DYN, Kind.LIST, Kind.MAP, Kind.OPAQUE, Kind.PARAMETER}


def _shown(value: Any) -> str:
    return value if type(value) is str else f"{type_name(value)}({value})"


def _build_map(entries: Sequence[tuple[Evaluate, Evaluate, bool]], frame: Frame) -> dict[Any, Any]:
    made = dict[Any, Any]()
    for key, value, optional in entries:
        name, item = key(frame), value(frame)
        if type(name) not in (str, int, bool, float) and not isinstance(name, int):
            raise EvaluationError(f"unsupported key type: {type_name(name)}")
        if optional:
            if type(item) is not Optional:
                wrong = f"cannot initialize optional entry '{name}' from non-optional value {_shown(item)}"
                raise EvaluationError(wrong)
            if not item.present:
                made.pop(name, None)
                continue
            item = item.value
        made[name] = item
    return made


def plan_list(planner: Planner, node: ListLiteral) -> Evaluate:
    """The closure that makes a list."""
    elements = [planner.plan(each) for each in node.elements]
    for each in node.elements:
        planner.put_within(each.type)
    if not node.optional and all(isinstance(each, Constant) for each in elements):
        return Constant([each(_NO_FRAME) for each in elements])
    planner.fixed += LIST_BASE
    if not node.optional:
        return lambda frame: [each(frame) for each in elements]
    wanted = [(each, at in node.optional) for at, each in enumerate(elements)]

    def evaluate(frame: Frame) -> list[Any]:
        made = list[Any]()
        for element, optional in wanted:
            value = element(frame)
            if not optional:
                made.append(value)
            elif type(value) is not Optional:
                raise EvaluationError(
                    f"cannot initialize optional list element from non-optional value {_shown(value)}"
                )
            elif value.present:
                made.append(value.value)
        return made

    return evaluate


def plan_map(planner: Planner, node: MapLiteral) -> Evaluate:
    """The closure that makes a map."""
    entries = [_entry(planner, each) for each in node.entries]
    constant = all(isinstance(name, Constant) and isinstance(value, Constant) for name, value, _ in entries)
    if constant and not any(optional for _, _, optional in entries):
        return Constant(_build_map(entries, _NO_FRAME))
    planner.fixed += MAP_BASE
    return lambda frame: _build_map(entries, frame)


def _entry(planner: Planner, entry: MapEntry) -> tuple[Evaluate, Evaluate, bool]:
    planner.put_within(entry.value.type)
    return planner.plan(entry.key), planner.plan(entry.value), entry.optional


def plan_struct(planner: Planner, node: StructLiteral) -> Evaluate:
    """The closure that makes an object."""
    make = planner.makers(node.name)
    assert make is not None  # the checker refuses others
    entries = [(Constant(each.name), planner.plan(each.value), each.optional) for each in node.fields]
    planner.fixed += STRUCT_BASE
    return lambda frame: make(_build_map(entries, frame))
