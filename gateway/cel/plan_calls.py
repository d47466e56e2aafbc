"""Plans calls of operators and functions, and how they are charged."""

from __future__ import annotations

import operator
from collections.abc import Callable
from math import ceil
from typing import TYPE_CHECKING, Any

from gateway.cel.ast import Call
from gateway.cel.conversions import FUNCTIONS as CONVERSIONS
from gateway.cel.costs import TRAVERSAL, Cost, cost_of
from gateway.cel.declarations import Function, Overload, functions, optional_functions
from gateway.cel.edition import Edition
from gateway.cel.equality import equal
from gateway.cel.libraries import implementations
from gateway.cel.libraries.regex import compiled
from gateway.cel.libraries.standard import DYNAMIC
from gateway.cel.meter import COST, LIMIT, Frame, Measure, go_through, growth_of, passed, read, take
from gateway.cel.natives import holds_objects, native
from gateway.cel.plan import Constant, Evaluate
from gateway.cel.plan_attributes import plan_attribute
from gateway.cel.plan_choices import plan_conditional, plan_logical, plan_or_value
from gateway.cel.types import CelType, Kind, same
from gateway.cel.values import EvaluationError, no_overload, type_name

if TYPE_CHECKING:
    from gateway.cel.plan import Planner

_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "_<_": operator.lt,
    "_<=_": operator.le,
    "_>_": operator.gt,
    "_>=_": operator.ge,
    "_==_": operator.eq,
    "_!=_": operator.ne,
}
# the same comparisons, of the results of two closures
_COMPARED: dict[str, Callable[[Evaluate, Evaluate], Evaluate]] = {
    "_<_": lambda one, other: lambda frame: one(frame) < other(frame),
    "_<=_": lambda one, other: lambda frame: one(frame) <= other(frame),
    "_>_": lambda one, other: lambda frame: one(frame) > other(frame),
    "_>=_": lambda one, other: lambda frame: one(frame) >= other(frame),
    "_==_": lambda one, other: lambda frame: one(frame) == other(frame),
    "_!=_": lambda one, other: lambda frame: one(frame) != other(frame),
}
# types whose values Python compares as CEL does
_COMPARABLE = {Kind.INT, Kind.UINT, Kind.STRING, Kind.BYTES, Kind.BOOL, Kind.TIMESTAMP, Kind.DURATION}
_COST_BY_RESULT = {"slice", "lists.range", "reverse", "join"}
# the cost of reading 0, 1, 2… characters
_SHORT = 256
TRAVERSALS = tuple(ceil(length * TRAVERSAL) for length in range(_SHORT))


def charge_length(length: int) -> int:
    """The cost of reading so many characters."""
    return TRAVERSALS[length] if length < _SHORT else ceil(length * TRAVERSAL)


def plan_call(planner: Planner, node: Call) -> Evaluate:
    """The closure of an operator or a function."""
    special = _SPECIAL.get(node.function)
    if special is not None:
        return special(planner, node)
    if node.function in ("or", "orValue"):
        return plan_or_value(planner, node)
    arguments = [node.target, *node.arguments] if node.target is not None else node.arguments
    planned = [planner.plan(each) for each in arguments]
    if node.function in CONVERSIONS and len(planned) == 1 and isinstance(planned[0], Constant):
        return _folded(planner, node, planned[0])
    if node.function == "dyn":
        return _dyn(planner, node, planned[0])
    if node.function in _COMPARED and (fast := _comparison(planner, node, planned)) is not None:
        return fast
    return _general(planner, node, planned, [each.type for each in arguments])


def _folded(planner: Planner, node: Call, argument: Constant) -> Constant:
    """Computes the conversion of a constant when planning. Its EvaluationError makes the expression invalid."""
    return Constant(_implementation(planner.edition, node, [])(argument.value))


def _general(planner: Planner, node: Call, planned: list[Evaluate], types: list[CelType]) -> Evaluate:
    function = _implementation(planner.edition, node, types, planner.raw)
    if (
        node.function in ("matches", "find", "findAll")
        and isinstance(planned[1], Constant)
        and type(planned[1].value) is str
    ):
        compiled(planned[1].value)  # so that an invalid pattern is found when planning
    overload = node.overloads[0] if len(node.overloads) == 1 else ""
    cost = planner.edition.costs.get(overload) or cost_of(node.function, overload)
    measure = growth_of(node.function, types)
    if cost is None:
        planner.fixed += 1
        if measure is not None:
            return _measured(function, planned, measure)
        return _reading(function, planned) if _reads_text(types) else _uncharged(function, planned)
    within = planner.nests and any(each.kind not in _COMPARABLE for each in types)
    if node.function in _COST_BY_RESULT:
        return _charged_after(function, planned, cost, measure)
    return _charged(function, planned, cost, measure, within)


def _uncharged(function: Callable[..., Any], planned: list[Evaluate]) -> Evaluate:
    match planned:
        case []:
            return lambda frame: function()
        case [only]:
            return lambda frame: function(only(frame))
        case [Constant() as first, second]:
            value = first.value
            return lambda frame: function(value, second(frame))
        case [first, Constant() as second]:
            value = second.value
            return lambda frame: function(first(frame), value)
        case [first, second]:
            return lambda frame: function(first(frame), second(frame))
    return lambda frame: function(*[each(frame) for each in planned])


def _reads_text(types: list[CelType]) -> bool:
    return any(each.kind in (Kind.STRING, Kind.BYTES, Kind.DYN, Kind.PARAMETER) for each in types)


def _reading(function: Callable[..., Any], planned: list[Evaluate]) -> Evaluate:
    """A call with a fixed cost, whose texts are counted."""

    def evaluate(frame: Frame) -> Any:
        values = tuple([each(frame) for each in planned])
        read(frame, values)
        return function(*values)

    return evaluate


def _measured(function: Callable[..., Any], planned: list[Evaluate], measure: Measure) -> Evaluate:
    """A call with a fixed cost, whose result's bytes are counted."""

    def evaluate(frame: Frame) -> Any:
        values = tuple([each(frame) for each in planned])
        take(frame, measure(values))
        return function(*values)

    return evaluate


def _charged(
    function: Callable[..., Any], planned: list[Evaluate], cost: Cost, measure: Measure | None, within: bool = False
) -> Evaluate:
    """A call that is charged before it runs. `within`: the values nested in its arguments are counted too."""

    def evaluate(frame: Frame) -> Any:
        values = tuple([each(frame) for each in planned])
        if within:
            go_through(frame, values)
        before = frame[COST]
        frame[COST] = before + cost(values, None)
        if frame[COST] > frame[LIMIT]:
            passed(frame)
        if measure is not None:
            take(frame, measure(values))
        try:
            return function(*values)
        except EvaluationError:
            frame[COST] = before  # cel-go does not charge a call that fails
            raise

    return evaluate


def _charged_after(
    function: Callable[..., Any], planned: list[Evaluate], cost: Cost, measure: Measure | None
) -> Evaluate:
    """A call that is charged by its result, after it ran. The result's bytes are counted before it runs."""

    def evaluate(frame: Frame) -> Any:
        values = tuple([each(frame) for each in planned])
        if measure is not None:
            take(frame, measure(values))
        result = function(*values)
        frame[COST] += cost(values, result)
        if frame[COST] > frame[LIMIT]:
            passed(frame)
        return result

    return evaluate


def _implementation(edition: Edition, node: Call, types: list[CelType], raw: bool = False) -> Callable[..., Any]:
    """The function of a call. If planning does not know the overload, the function chooses it by its arguments.

    `raw`: arguments may be raw values, which are not of their declared types.
    """
    dynamic = DYNAMIC.get(node.function)
    if len(node.overloads) == 1 and not raw and not any(map(_is_dynamic, types)):
        known = edition.implementations.get(node.overloads[0]) or implementations().get(node.overloads[0])
        if known is not None:
            return known
    if dynamic is not None:
        return dynamic
    return _dispatched(edition, node)


def _declared(name: str) -> Function:
    return functions().get(name) or optional_functions()[name]


def _is_dynamic(of: CelType) -> bool:
    return of.kind is Kind.DYN or any(map(_is_dynamic, of.parameters))


def _dispatched(edition: Edition, node: Call) -> Callable[..., Any]:
    overloads = _declared(node.function).without(edition.withdrawn).overloads
    declared = [each for each in overloads if each.member is (node.target is not None)]
    if len(node.overloads) == 1:
        declared = [each for each in declared if each.id == node.overloads[0]]
    known = {**implementations(), **edition.implementations}
    name = node.function

    def dispatch(*values: Any) -> Any:
        for overload in declared:
            if len(values) == len(overload.arguments) and _takes(overload, values):
                return known[overload.id](*values)
        raise no_overload(f"{name}({', '.join(map(type_name, values))})")

    return dispatch


def _takes(overload: Overload, values: tuple[Any, ...]) -> bool:
    return all(map(is_of, values, overload.arguments))


def is_of(value: Any, wanted: CelType) -> bool:
    """Whether a value is of a type. Of a list or map, only the first element is checked."""
    if wanted.kind in (Kind.DYN, Kind.PARAMETER):
        return True
    if type_name(value) != wanted.name:
        return False
    if wanted.kind is Kind.LIST:
        return not value or is_of(value[0], wanted.parameters[0])
    if wanted.kind is Kind.MAP:
        first = next(iter(value.items()), None)
        return first is None or all(map(is_of, first, wanted.parameters))
    return True


def _dyn(planner: Planner, node: Call, planned: Evaluate) -> Evaluate:
    planner.fixed += 1
    of = node.arguments[0].type
    return as_native(planner, planned, of)


def as_native(planner: Planner, planned: Evaluate, of: CelType, *, whole: bool = False) -> Evaluate:
    """A closure that converts the objects in its result to maps; see `native`."""
    structs = planner.structs
    if structs is None or not holds_objects(of):
        return planned
    return lambda frame: native(planned(frame), of, structs, frame, whole=whole)


def _comparison(planner: Planner, node: Call, planned: list[Evaluate]) -> Evaluate | None:
    first, second = (each.type for each in node.arguments)
    if first.kind not in _COMPARABLE or first.kind is not second.kind:
        return None
    compare, left, right = _COMPARISONS[node.function], planned[0], planned[1]
    if first.kind in (Kind.STRING, Kind.BYTES):
        return _compared_texts(compare, left, right)
    planner.fixed += 1
    return _compared(node.function, left, right)


def _compared(function: str, left: Evaluate, right: Evaluate) -> Evaluate:
    if isinstance(right, Constant):
        return _uncharged(_COMPARISONS[function], [left, right])
    return _COMPARED[function](left, right)


def _compared_texts(compare: Callable[[Any, Any], Any], left: Evaluate, right: Evaluate) -> Evaluate:
    """A comparison of strings or bytes. It costs by the length of the shorter one."""
    if isinstance(right, Constant) and len(right.value) < _SHORT:
        constant = right.value
        length, most = len(constant), TRAVERSALS[len(constant)]

        def with_constant(frame: Frame) -> Any:
            value = left(frame)
            frame[COST] += TRAVERSALS[len(value)] if len(value) < length else most
            return compare(value, constant)

        return with_constant

    def evaluate(frame: Frame) -> Any:
        one, other = left(frame), right(frame)
        frame[COST] += charge_length(min(len(one), len(other)))
        return compare(one, other)

    return evaluate


def _equality(planner: Planner, node: Call) -> Evaluate:
    left, right = (planner.plan(each) for each in node.arguments)
    first, second = (each.type for each in node.arguments)
    negated = node.function == "_!=_"
    compare = _COMPARISONS[node.function]
    if first.kind is second.kind and first.kind in _COMPARABLE | {Kind.DOUBLE}:
        if first.kind in (Kind.STRING, Kind.BYTES):
            return _compared_texts(compare, left, right)
        planner.fixed += 1
        return _compared(node.function, left, right)
    cost = cost_of(node.function, "equals")
    assert cost is not None  # equality has a cost function
    if not same(first, second) or _has_special_objects(planner, first):
        left, right = as_native(planner, left, first, whole=True), as_native(planner, right, second, whole=True)
    if negated:
        return _charged(lambda one, other: not equal(one, other), [left, right], cost, None, planner.nests)
    return _charged(equal, [left, right], cost, None, planner.nests)


def _has_special_objects(planner: Planner, of: CelType) -> bool:
    if of.kind is Kind.STRUCT and planner.structs is not None:
        declared = planner.structs.of(of.name)
        return declared is not None and declared.special
    return any(_has_special_objects(planner, each) for each in of.parameters)


def _membership(planner: Planner, node: Call) -> Evaluate:
    value, within = (planner.plan(each) for each in node.arguments)
    if isinstance(within, Constant) and node.overloads == ["in_list"]:
        if not within.value:
            return Constant(False)
        if all(type(each) is str for each in within.value):
            allowed = frozenset(within.value)
            return lambda frame: value(frame) in allowed
        if all(type(each) in (bool, int, float, str) or isinstance(each, int) for each in within.value):
            listed = within.value
            contained = DYNAMIC["@in"]
            return lambda frame: contained(value(frame), listed)
    first, second = (each.type for each in node.arguments)
    if _has_special_objects(planner, first):
        value, within = as_native(planner, value, first, whole=True), as_native(planner, within, second, whole=True)
    return _general(planner, node, [value, within], [first, second])


_SPECIAL: dict[str, Callable[[Planner, Call], Evaluate]] = {
    "_&&_": plan_logical,
    "_||_": plan_logical,
    "_?_:_": plan_conditional,
    "_==_": _equality,
    "_!=_": _equality,
    "@in": _membership,
    "_[_]": lambda planner, node: plan_attribute(planner, node, 1),
    "_[?_]": lambda planner, node: plan_attribute(planner, node, 1),
    "_?._": lambda planner, node: plan_attribute(planner, node, 1),
}
