"""Plans comprehensions: each macro becomes a Python loop that is charged like cel-go's fold."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from gateway.cel.ast import Call, Comprehension, ListLiteral, Literal, MapLiteral, Node
from gateway.cel.costs import LIST_BASE
from gateway.cel.libraries.standard import insert
from gateway.cel.macros import UNUSED
from gateway.cel.meter import COST, LIMIT, Frame, passed
from gateway.cel.plan import Evaluate
from gateway.cel.values import EvaluationError, no_overload, type_name

if TYPE_CHECKING:
    from gateway.cel.plan import Planner

# the costs of the accumulator `@result` in cel-go's fold: in each turn of `all`, in each turn of `exists`, for reading
# it, for adding 1 to it, for appending to it
_ALL_TURN, _EXISTS_TURN, _READ, _COUNT, _APPEND = 3, 4, 1, 2, 2 + LIST_BASE
_GO_TYPES = {
    "int": "types.Int",
    "uint": "types.Uint",
    "double": "types.Double",
    "bool": "types.Bool",
    "string": "types.String",
    "bytes": "types.Bytes",
    "null_type": "types.Null",
    "google.protobuf.Timestamp": "types.Timestamp",
    "google.protobuf.Duration": "types.Duration",
}
Fill = Callable[[Frame, Any], None]


def plan_fold(planner: Planner, node: Comprehension) -> Evaluate:
    """The closure of a comprehension. The parser makes comprehensions from macros only."""
    if node.variable == UNUSED:
        return _bound(planner, node)
    over = planner.plan(node.range)
    slots = planner.enter(*([node.variable, node.variable2] if node.variable2 else [node.variable]))
    try:
        planner.fixed += _READ
        return _loop(planner, node, over, slots)
    finally:
        planner.leave()


def _bound(planner: Planner, node: Comprehension) -> Evaluate:
    """The closure of a binding (`cel.bind`, `optMap`): computes the value, then the result that uses it."""
    value, cost = planner.measured(node.initial)
    (slot,) = planner.enter(node.accumulator)
    result = planner.plan(node.result)
    planner.leave()
    planner.fixed += cost

    def evaluate(frame: Frame) -> Any:
        frame[slot] = value(frame)
        return result(frame)

    return evaluate


def _loop(planner: Planner, node: Comprehension, over: Evaluate, slots: list[int]) -> Evaluate:
    step = node.step
    assert isinstance(step, Call)  # the step of every macro is a call
    values = _values(over, len(slots) == 2)
    items = _items(values, slots)
    match step.function, node.initial:
        case "_&&_", _:
            return _quantified(planner, step.arguments[1], values, slots, False, _ALL_TURN)
        case "_||_", _:
            return _quantified(planner, step.arguments[1], values, slots, True, _EXISTS_TURN)
        case _, Literal():
            return _exactly_one(planner, step.arguments[0], items)
    condition: Node | None = None
    if step.function == "_?_:_":
        condition, chosen = step.arguments[0], step.arguments[1]
        assert isinstance(chosen, Call)
        step = chosen
    if isinstance(node.initial, ListLiteral):
        added = step.arguments[1]
        assert isinstance(added, ListLiteral)
        return _collected(planner, condition, added.elements[0], items)
    assert isinstance(node.initial, MapLiteral)
    return _mapped(planner, condition, step.arguments[1:], items)


Items = Callable[[Frame], Iterator[None]]
Values = Callable[[Frame], Any]


def _values(over: Evaluate, two: bool) -> Values:
    """The range of a comprehension: elements or keys; with `two` variables, pairs (index, element) or (key, value)."""

    def single(frame: Frame) -> Any:
        values = over(frame)
        if not isinstance(values, list | dict | tuple):
            raise EvaluationError(f"got '{_go_type(values)}', expected iterable type")
        return values

    def double(frame: Frame) -> Any:
        values = over(frame)
        if isinstance(values, dict):
            return values.items()
        if not isinstance(values, list | tuple):
            raise EvaluationError(f"unsupported comprehension range type: {_go_type(values)}")
        return _Numbered(values)

    return double if two else single


class _Numbered:
    """Pairs of index and element of a list, with a length."""

    __slots__ = ("_values",)

    def __init__(self, values: list[Any] | tuple[Any, ...]) -> None:
        self._values = values

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        return enumerate(self._values)


def _go_type(value: Any) -> str:
    return _GO_TYPES.get(type_name(value), type_name(value))


def _items(values: Values, slots: list[int]) -> Items:
    """Iterates over the range. Each turn sets the variables in the frame."""
    first, second = slots[0], slots[1] if len(slots) > 1 else 0

    def single(frame: Frame) -> Iterator[None]:
        for value in values(frame):
            frame[first] = value
            yield

    def double(frame: Frame) -> Iterator[None]:
        for pair in values(frame):
            frame[first], frame[second] = pair
            yield

    return double if second else single


def _quantified(
    planner: Planner, predicate: Node, values: Values, slots: list[int], decisive: bool, turn: int
) -> Evaluate:
    """`all` and `exists`: stops at the first element that decides. If none decides, raises the first error."""
    test, cost = planner.measured(predicate)
    cost, look, undecided = cost + turn, turn - _READ, not decisive
    first, second = slots[0], slots[1] if len(slots) > 1 else 0

    def evaluate(frame: Frame) -> bool:
        failure: EvaluationError | None = None
        limit, left = frame[LIMIT], values(frame)
        count = len(left)
        for value in left:
            if second:
                frame[first], frame[second] = value
            else:
                frame[first] = value
            frame[COST] += cost
            count -= 1
            if frame[COST] > limit:
                limit = passed(frame)
            try:
                result: Any = test(frame)
                if result is decisive:
                    frame[COST] += look if count else 0
                    return not undecided
                if type(result) is not bool:
                    raise no_overload()
            except EvaluationError as error:
                failure = failure or error
        if failure is not None:
            raise failure
        return undecided

    return evaluate


def _exactly_one(planner: Planner, predicate: Node, items: Items) -> Evaluate:
    test, cost = planner.measured(predicate)
    planner.fixed += 1

    def evaluate(frame: Frame) -> bool:
        found, limit = 0, frame[LIMIT]
        for _ in items(frame):
            frame[COST] += cost
            if frame[COST] > limit:
                limit = passed(frame)
            value = test(frame)
            if value is True:
                found += 1
                frame[COST] += _COUNT
            elif value is not False:
                raise no_overload()
        return found == 1

    return evaluate


def _condition(planner: Planner, condition: Node | None) -> tuple[Evaluate | None, int]:
    return (None, 0) if condition is None else planner.measured(condition)


def _passes(test: Evaluate | None, cost: int, frame: Frame) -> bool:
    frame[COST] += cost
    if frame[COST] > frame[LIMIT]:
        passed(frame)
    if test is None:
        return True
    value = test(frame)
    if type(value) is not bool:
        raise no_overload()
    return value


def _collected(planner: Planner, condition: Node | None, element: Node, items: Items) -> Evaluate:
    """`map`, `filter` and `transformList`."""
    planner.put_within(element.type)
    test, test_cost = _condition(planner, condition)
    make, cost = planner.measured(element)
    cost += _APPEND

    def evaluate(frame: Frame) -> list[Any]:
        made = list[Any]()
        for _ in items(frame):
            if _passes(test, test_cost, frame):
                frame[COST] += cost
                made.append(make(frame))
        if frame[COST] > frame[LIMIT]:
            passed(frame)
        return made

    return evaluate


def _mapped(planner: Planner, condition: Node | None, parts: list[Node], items: Items) -> Evaluate:
    """`transformMap` (`parts`: key and value) and `transformMapEntry` (`parts`: a map)."""
    test, test_cost = _condition(planner, condition)
    planned = [planner.measured(each) for each in parts]
    cost = sum(each for _, each in planned) + 2
    makers = [each for each, _ in planned]
    planner.put_within(parts[-1].type)

    def evaluate(frame: Frame) -> dict[Any, Any]:
        made = dict[Any, Any]()
        for _ in items(frame):
            if not _passes(test, test_cost, frame):
                continue
            frame[COST] += cost
            if len(makers) == 2:
                _add(made, makers[0](frame), makers[1](frame))
            else:
                for name, value in makers[0](frame).items():
                    _add(made, name, value)
        if frame[COST] > frame[LIMIT]:
            passed(frame)
        return made

    return evaluate


def _add(into: dict[Any, Any], name: Any, value: Any) -> None:
    if name in into:
        insert(into, name, value)
    into[name] = value
