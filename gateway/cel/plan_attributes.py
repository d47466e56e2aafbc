"""Plans variables, the fields and elements selected from them, and presence tests.

Their costs are those of cel-go: 1 for a chain of selections that starts at a variable or another value, and 1 for each
selection.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gateway.cel.ast import Call, Ident, Literal, Node, Select
from gateway.cel.conversions import format_double
from gateway.cel.meter import CACHE, COST, Frame
from gateway.cel.plan import Constant, Evaluate
from gateway.cel.raw import RawMap
from gateway.cel.schema_types import ToCel
from gateway.cel.types import DYN, Kind, is_optional
from gateway.cel.values import NONE, EvaluationError, Optional, Uint, no_overload, type_name

if TYPE_CHECKING:
    from gateway.cel.plan import Planner

_INDEXING = ("_[_]", "_[?_]", "_?._")
Step = Callable[[Any, Frame], Any]


def is_attribute(node: Node) -> bool:
    """Whether a node is a variable, a selection, an index, or a conditional."""
    match node:
        case Ident():
            return node.constant is None
        case Select():
            return not node.test_only
        case Call():
            return node.function in _INDEXING or node.function == "_?_:_"
    return False


def plan_ident(planner: Planner, node: Ident) -> Evaluate:
    """The closure of a variable, or of the name of a type."""
    if node.constant is not None:
        return Constant(node.constant)
    planner.fixed += 1
    slot = planner.slot(node.name)
    return lambda frame: frame[slot]


def plan_attribute(planner: Planner, node: Node, extra: int) -> Evaluate:
    """The closure of a chain of selections. `extra` is the cost of the chain itself, without its selections."""
    chain = list[Node]()
    while (operand := _operand(node)) is not None:
        chain.append(node)
        node = operand
    chain.reverse()
    if isinstance(node, Ident) and node.constant is None:
        planner.fixed += extra
        slot = planner.slot(node.name)
        if not chain:
            return lambda frame: frame[slot]
        return _from_variable(planner, slot, node, chain)
    base = planner.plan(node)
    if not (isinstance(node, Call) and node.function == "_?_:_"):
        planner.fixed += extra
    return _from_value(planner, base, node, chain)


def _operand(node: Node) -> Node | None:
    match node:
        case Select(test_only=False):
            return node.operand
        case Call() if node.function in _INDEXING:
            return node.arguments[0]
    return None


def _is_optional(node: Node, base: Node) -> bool:
    """Whether a selection (`a[?b]`, `a.?b`) has an optional result."""
    return isinstance(node, Call) and node.function != "_[_]"


def _from_variable(planner: Planner, slot: int, base: Node, chain: list[Node]) -> Evaluate:
    plain = None if planner.raw else _plain_fields(planner, base, chain)
    if plain is None:
        return _from_value(planner, lambda frame: frame[slot], base, chain)
    planner.fixed += len(chain)
    if len(plain) == 1:
        only, written = plain[0]

        def one(frame: Frame) -> Any:
            value = frame[slot].get(only)
            if value is None:
                raise missing(written)
            return value

        return one

    def several(frame: Frame) -> Any:
        value = frame[slot]
        for name, text in plain:
            value = value.get(name)
            if value is None:
                raise missing(text)
        return value

    return several


def _plain_fields(planner: Planner, base: Node, chain: list[Node]) -> list[tuple[str, str]] | None:
    """The properties of a chain of fields, each with its name in the expression.

    None if a step is not a field of an object, or must convert its value.
    """
    names, operand = list[tuple[str, str]](), base
    for each in chain:
        if not isinstance(each, Select) or operand.type.kind is not Kind.STRUCT or planner.structs is None:
            return None
        found = planner.structs.declared(operand.type.name, each.field)
        if found is None or found[1].convert is not None:
            return None
        names.append((found[0], each.field))
        operand = each
    return names


def missing(name: Any) -> EvaluationError:
    """The error for a field or key that does not exist."""
    return EvaluationError(f"no such key: {shown(name)}")


def shown(value: Any) -> str:
    """A key in error messages."""
    if type(value) is bool:
        return "true" if value else "false"
    if type(value) is float:
        return format_double(value)
    return str(int(value)) if type(value) is Uint else str(value)


def _from_value(planner: Planner, base: Evaluate, operand: Node, chain: list[Node]) -> Evaluate:
    steps, optional = list[tuple[Step, bool]](), is_optional(operand.type)
    starts_optional = optional
    for each in chain:
        optional = optional or _is_optional(each, operand)
        step = _step(planner, operand, each, optional)
        if not optional:
            planner.fixed += 1
        steps.append((step, optional))
        operand = each
    if optional:
        return _optional_chain(base, steps, starts_optional)
    if len(steps) == 1:
        only = steps[0][0]
        return lambda frame: only(base(frame), frame)

    def evaluate(frame: Frame) -> Any:
        value = base(frame)
        for step, _ in steps:
            value = step(value, frame)
        return value

    return evaluate


def _optional_chain(base: Evaluate, steps: list[tuple[Step, bool]], starts_optional: bool) -> Evaluate:
    """A chain with optional selections. A selection costs 1 only if it finds a value."""

    def evaluate(frame: Frame) -> Any:
        value = base(frame)
        if starts_optional or type(value) is Optional:
            if not value.present:
                return value
            value = value.value
        for step, optional in steps:
            try:
                value = step(value, frame)
            except _Absent:
                return NONE
            if optional:
                frame[COST] += 1
        return Optional(value)

    return evaluate


class _Absent(EvaluationError):
    """The selected field, key or element does not exist."""


def _step(planner: Planner, operand: Node, node: Node, optional: bool) -> Step:
    if isinstance(node, Select):
        return _field_step(planner, operand, node.field, optional)
    assert isinstance(node, Call)  # `_operand` returns only selections and calls
    if node.function == "_?._":
        field = node.arguments[1]
        assert isinstance(field, Literal)  # by the parser
        return _field_step(planner, operand, field.value, optional)
    index = node.arguments[1]
    key = plan_attribute(planner, index, 0) if is_attribute(index) else planner.plan(index)
    if isinstance(key, Constant):
        value = key.value
        if value is None:
            raise EvaluationError("invalid qualifier type: types.Null")
        return (lambda of, frame: find(of, value)) if optional else (lambda of, frame: qualify(of, value))
    if optional:
        return lambda of, frame: find(of, key(frame))
    return lambda of, frame: qualify(of, key(frame))


def _field_step(planner: Planner, operand: Node, field: str, optional: bool) -> Step:
    of = operand.type.parameters[0] if is_optional(operand.type) else operand.type
    if of.kind is Kind.STRUCT and planner.structs is not None:
        declared = planner.structs.declared(of.name, field)
        if declared is not None:
            step = _property_step(declared[0], declared[1].convert, field, optional)
            return _unless_raw(step, field, optional) if planner.raw else step
    if optional:
        return lambda value, frame: find(value, field)
    if of.kind is Kind.MAP:

        def step(value: Any, frame: Frame) -> Any:
            try:
                return value[field]
            except (KeyError, TypeError):
                return qualify(value, field)

        return step
    return lambda value, frame: qualify(value, field)


def _property_step(name: str, convert: ToCel | None, written: str, optional: bool) -> Step:
    def step(value: Any, frame: Frame) -> Any:
        found = value.get(name)
        if found is None:
            raise _Absent if optional else missing(written)
        return found if convert is None else convert(found, frame[CACHE])

    return step


def _unless_raw(step: Step, field: str, optional: bool) -> Step:
    """A step that handles raw objects too: their properties have unescaped names."""
    look = find if optional else qualify
    return lambda value, frame: look(value, field) if type(value) is RawMap else step(value, frame)


def qualify(value: Any, key: Any) -> Any:
    """The field, entry or element of a value of any type. Raises EvaluationError if it does not exist."""
    try:
        return find(value, key)
    except _Absent:
        if isinstance(value, list | tuple):
            raise EvaluationError(f"index out of bounds: {shown(key)}") from None
        raise missing(key) from None


def find(value: Any, key: Any) -> Any:
    """Like `qualify`, but raises _Absent if the field, entry or element does not exist."""
    if isinstance(value, dict):
        if type(key) not in (str, bool, int, Uint, float):
            raise no_overload()
        found = value.get(key, _NOTHING)
        if found is _NOTHING:
            raise _Absent
        return found
    if isinstance(value, list | tuple):
        at = _index(key)
        if not 0 <= at < len(value):
            raise _Absent
        return value[at]
    if type(value) is Optional and value.present:
        return find(value.value, key)
    get = getattr(value, "get", None)
    found = get(key) if get is not None else None
    if found is None:
        raise _Absent
    return found


_NOTHING = object()


def _index(key: Any) -> int:
    if type(key) in (int, Uint):
        return int(key)
    if type(key) is float:
        if key.is_integer():
            return int(key)
        raise EvaluationError(f"unsupported index value {key} in list")
    raise EvaluationError(f"unsupported index type '{type_name(key)}' in list")


def plan_presence(planner: Planner, node: Select) -> Evaluate:
    """The closure of `has(a.b)`. It costs 1 more than its operand."""
    operand, field = node.operand, node.field
    if is_attribute(operand):
        base = plan_attribute(planner, operand, 0)
    else:
        base = planner.plan(operand)
    planner.fixed += 1
    of = operand.type.parameters[0] if is_optional(operand.type) else operand.type
    if of.kind is Kind.STRUCT and planner.structs is not None and not is_optional(operand.type):
        declared = planner.structs.declared(of.name, field)
        if declared is not None and planner.inspect is None and not planner.raw:
            name = declared[0]
            return lambda frame: base(frame).get(name) is not None
    step, inspect = _field_step(planner, operand, field, True), planner.inspect
    type_ = (planner.structs and planner.structs.field(of.name, field)) or DYN

    def evaluate(frame: Frame) -> bool:
        value = base(frame)
        if type(value) is Optional:
            if not value.present:
                return False
            value = value.value
        try:
            found = step(value, frame)
        except _Absent:
            return False
        except EvaluationError:
            if isinstance(value, list | tuple):
                raise
            return False
        if inspect is not None:
            inspect(found, type_)
        return True

    return evaluate
