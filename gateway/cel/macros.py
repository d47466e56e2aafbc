"""Macros: calls that the parser expands to comprehensions (cel-spec, "Macros").

Also the macros of cel-go's optional, list and two-variable comprehension libraries that Kubernetes has."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from gateway.cel.ast import (
    Call,
    Comprehension,
    Copies,
    Ident,
    ListLiteral,
    Literal,
    MapLiteral,
    Node,
    Select,
    TooManyNodes,
)

ACCUMULATOR = "@result"
UNUSED = "#unused"
_SORTED = "@__sortBy_input__"
_OVERWRITES = "iteration variable overwrites accumulator variable"


class MacroError(Exception):
    """A macro has invalid arguments. `at` is the offset, `message` cel-go's message."""

    def __init__(self, at: int, message: str) -> None:
        super().__init__(message)
        self.at = at
        self.message = message


BINDINGS = "bindings"  # the library that has `cel.bind`

_Expander = Callable[[int, Node, list[Node]], Node | None]


def expand(
    at: int, name: str, target: Node | None, arguments: list[Node], copies: Copies, libraries: Collection[str] = ()
) -> Node | None:
    """The expansion of a macro call; None if the call is not a macro.

    `copies` copies the target for macros that use it twice. Raises MacroError.
    """
    if target is None:
        if name != "has" or len(arguments) != 1:
            return None
        argument = arguments[0]
        if isinstance(argument, Select):
            return Select(at, argument.operand, argument.field, True)
        raise MacroError(argument.at, "invalid argument to has() macro")
    if name in ("optMap", "optFlatMap") and len(arguments) == 2:
        return _optional_map(at, target, arguments, copies, flat=name == "optFlatMap")
    if name == "bind" and BINDINGS in libraries and len(arguments) == 3 and _is_ident(target, "cel"):
        return _binding(at, *arguments)
    expander = _MACROS.get((name, len(arguments)))
    return expander(at, target, arguments) if expander else None


def _result(at: int) -> Node:
    return Ident(at, ACCUMULATOR)


def _call(at: int, function: str, *arguments: Node) -> Node:
    return Call(at, function, None, list(arguments))


def _variable(argument: Node, message: str) -> str:
    if not isinstance(argument, Ident):
        raise MacroError(argument.at, message)
    if argument.name in (ACCUMULATOR, "__result__"):
        raise MacroError(argument.at, _OVERWRITES)
    return argument.name


def _variables(arguments: list[Node], two: bool, message: str = "argument must be a simple name") -> tuple[str, str]:
    if not two:
        return _variable(arguments[0], message), ""
    for argument in arguments[:2]:
        if not isinstance(argument, Ident):
            raise MacroError(argument.at, message)
    first, second = arguments[0], arguments[1]
    assert isinstance(first, Ident) and isinstance(second, Ident)
    if first.name == second.name:
        raise MacroError(second.at, f"duplicate variable name: {first.name}")
    return _variable(first, message), _variable(second, message)


def _fold(at: int, range_: Node, names: tuple[str, str], *parts: Node) -> Node:
    initial, condition, step, result = parts
    return Comprehension(at, range_, names[0], names[1], ACCUMULATOR, initial, condition, step, result)


def _all(two: bool) -> _Expander:
    def expander(at: int, target: Node, arguments: list[Node]) -> Node:
        names = _variables(arguments, two)
        condition = _call(at, "@not_strictly_false", _result(at))
        step = _call(at, "_&&_", _result(at), arguments[-1])
        return _fold(at, target, names, Literal(at, True), condition, step, _result(at))

    return expander


def _exists(two: bool) -> _Expander:
    def expander(at: int, target: Node, arguments: list[Node]) -> Node:
        names = _variables(arguments, two)
        condition = _call(at, "@not_strictly_false", _call(at, "!_", _result(at)))
        step = _call(at, "_||_", _result(at), arguments[-1])
        return _fold(at, target, names, Literal(at, False), condition, step, _result(at))

    return expander


def _exists_one(two: bool) -> _Expander:
    def expander(at: int, target: Node, arguments: list[Node]) -> Node:
        names = _variables(arguments, two)
        more = _call(at, "_+_", _result(at), Literal(at, 1))
        step = _call(at, "_?_:_", arguments[-1], more, _result(at))
        found = _call(at, "_==_", _result(at), Literal(at, 1))
        return _fold(at, target, names, Literal(at, 0), Literal(at, True), step, found)

    return expander


def _collect(at: int, target: Node, names: tuple[str, str], step: Node, filter_: Node | None, initial: Node) -> Node:
    if filter_ is not None:
        step = _call(at, "_?_:_", filter_, step, _result(at))
    return _fold(at, target, names, initial, Literal(at, True), step, _result(at))


def _map(at: int, target: Node, arguments: list[Node]) -> Node:
    names = _variables(arguments, False, "argument is not an identifier")
    step = _call(at, "_+_", _result(at), ListLiteral(at, [arguments[-1]]))
    return _collect(at, target, names, step, arguments[1] if len(arguments) == 3 else None, ListLiteral(at, []))


def _filter(at: int, target: Node, arguments: list[Node]) -> Node:
    names = _variables(arguments, False, "argument is not an identifier")
    step = _call(at, "_+_", _result(at), ListLiteral(at, [arguments[0]]))
    return _collect(at, target, names, step, arguments[1], ListLiteral(at, []))


def _transform_list(at: int, target: Node, arguments: list[Node]) -> Node:
    names = _variables(arguments, True)
    step = _call(at, "_+_", _result(at), ListLiteral(at, [arguments[-1]]))
    return _collect(at, target, names, step, arguments[2] if len(arguments) == 4 else None, ListLiteral(at, []))


def _transform_map(at: int, target: Node, arguments: list[Node]) -> Node:
    names = _variables(arguments, True)
    step = _call(at, "cel.@mapInsert", _result(at), Ident(at, names[0]), arguments[-1])
    return _collect(at, target, names, step, arguments[2] if len(arguments) == 4 else None, MapLiteral(at, []))


def _transform_map_entry(at: int, target: Node, arguments: list[Node]) -> Node:
    names = _variables(arguments, True)
    step = _call(at, "cel.@mapInsert", _result(at), arguments[-1])
    return _collect(at, target, names, step, arguments[2] if len(arguments) == 4 else None, MapLiteral(at, []))


def _bound(at: int, name: str, value: Node, result: Node) -> Node:
    """Binds `name` to `value` in `result`. This is a fold over an empty list, as in cel-go."""
    return Comprehension(at, ListLiteral(at, []), UNUSED, "", name, value, Literal(at, False), Ident(at, name), result)


def _is_ident(node: Node, name: str) -> bool:
    return isinstance(node, Ident) and node.name == name


def _binding(at: int, variable: Node, value: Node, result: Node) -> Node:
    if not isinstance(variable, Ident):
        raise MacroError(variable.at, "cel.bind() variable names must be simple identifiers")
    return _bound(at, variable.name, value, result)


def _optional_map(at: int, target: Node, arguments: list[Node], copies: Copies, *, flat: bool) -> Node:
    function = "optFlatMap" if flat else "optMap"
    if not isinstance(arguments[0], Ident):
        raise MacroError(arguments[0].at, f"{function}() variable name must be a simple identifier")
    try:
        value = Call(at, "value", copies.of(target), [])
    except TooManyNodes:
        raise MacroError(at, f"{function}() nests too deeply") from None
    mapped = _bound(at, arguments[0].name, value, arguments[1])
    chosen = mapped if flat else _call(at, "optional.of", mapped)
    return _call(at, "_?_:_", Call(at, "hasValue", target, []), chosen, _call(at, "optional.none"))


def _sort_by(at: int, target: Node, arguments: list[Node]) -> Node:
    if isinstance(target, Literal | MapLiteral):
        kinds = "a list, identifier, comprehension, call or select expression"
        raise MacroError(target.at, f"sortBy can only be applied to {kinds}")
    keys = _map(at, Ident(at, _SORTED), arguments)
    call = Call(at, "@sortByAssociatedKeys", Ident(at, _SORTED), [keys])
    return _bound(at, _SORTED, target, call)


_MACROS: dict[tuple[str, int], Any] = {
    ("all", 2): _all(False),
    ("exists", 2): _exists(False),
    ("exists_one", 2): _exists_one(False),
    ("map", 2): _map,
    ("map", 3): _map,
    ("filter", 2): _filter,
    ("sortBy", 2): _sort_by,
    ("all", 3): _all(True),
    ("exists", 3): _exists(True),
    ("exists_one", 3): _exists_one(True),
    ("existsOne", 3): _exists_one(True),
    ("transformList", 3): _transform_list,
    ("transformList", 4): _transform_list,
    ("transformMap", 3): _transform_map,
    ("transformMap", 4): _transform_map,
    ("transformMapEntry", 3): _transform_map_entry,
    ("transformMapEntry", 4): _transform_map_entry,
}
