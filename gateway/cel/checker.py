"""Finds the type of each node and the overloads of each call (cel-spec, "Gradual type checking").

The rules are tried in the order of cel-go's checker, so that the errors come in the same order.
"""

from __future__ import annotations

from gateway.cel.ast import (
    Call,
    Comprehension,
    FieldInit,
    Ident,
    ListLiteral,
    Literal,
    MapEntry,
    MapLiteral,
    Node,
    Select,
    StructLiteral,
    qualified_name,
)
from gateway.cel.declarations import Function, type_names
from gateway.cel.environment import Environment
from gateway.cel.source import CompilationError, Problem
from gateway.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DYN,
    ERROR,
    INT,
    NULL,
    STRING,
    UINT,
    CelType,
    Kind,
    describe,
    list_of,
    map_of,
    optional_of,
    same,
    struct,
)
from gateway.cel.unification import Substitutions, most_general, rename, unwrapped
from gateway.cel.values import TypeValue, Uint

_LITERALS = {bool: BOOL, int: INT, Uint: UINT, float: DOUBLE, str: STRING, bytes: BYTES, type(None): NULL}
_LOGICAL = ("_&&_", "_||_")


def check(text: str, tree: Node, environment: Environment) -> Node:
    """Sets the types of all nodes in place, and returns the checked tree. Raises CompilationError.

    The returned root may be another node: a dotted name (`a.b`) of one variable becomes one Ident.
    """
    checker = _Checker(environment)
    tree = checker.check(tree)
    if checker.problems:
        raise CompilationError(text, checker.problems)
    for node in checker.generic:
        node.type = checker.found.apply(node.type, final=True)
    return tree


class _Checker:
    __slots__ = ("environment", "found", "generic", "problems", "scopes")

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.found = Substitutions()
        self.problems = list[Problem]()
        self.scopes = list[dict[str, CelType]]()
        # nodes whose types have type parameters; later nodes may determine these
        self.generic = list[Node]()

    def check(self, node: Node) -> Node:
        """Sets the type of a node. Returns it, or the Ident that replaces it."""
        kind = type(node)
        if kind is Select:
            node = self._select(node)  # type: ignore[arg-type]  # `kind` is compared above
        elif kind is Call:
            node = self._call(node)  # type: ignore[arg-type]
        elif kind is Ident:
            self._ident(node)  # type: ignore[arg-type]
        elif kind is Literal:
            node.type = _LITERALS[type(node.value)]  # type: ignore[attr-defined]
        else:
            self._aggregate(node)
        if node.type.generic:
            self.generic.append(node)
        return node

    def _aggregate(self, node: Node) -> None:
        match node:
            case ListLiteral():
                self._list(node)
            case MapLiteral():
                self._map(node)
            case Comprehension():
                self._comprehension(node)
            case StructLiteral():
                self._struct(node)

    def _report(self, at: int, message: str) -> None:
        self.problems.append(Problem(at, message))

    def _lookup(self, name: str) -> CelType | None:
        name = name.removeprefix(".")
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return self.environment.variable(name)

    def _ident(self, node: Ident) -> None:
        if (known := self._lookup(node.name)) is None:
            node.type = ERROR
            self._report(node.at, f"undeclared reference to '{node.name}' (in container '')")
            return
        self._resolve(node, known)

    def _resolve(self, node: Ident, known: CelType) -> None:
        """Sets the type of an identifier, and its constant if it names a type."""
        node.name = node.name.removeprefix(".")
        node.type = known
        if known.kind is Kind.TYPE and known is type_names().get(node.name):
            node.constant = TypeValue(node.name)

    def _select(self, node: Select) -> Node:
        if not node.test_only and (name := qualified_name(node)) and (known := self._lookup(name)) is not None:
            ident = Ident(node.at, name)
            self._resolve(ident, known)
            return ident
        node.operand = self.check(node.operand)
        result = self._field(node.at, node.operand, node.field, optional=False)
        node.type = BOOL if node.test_only else self.found.apply(result)
        return node

    def _field(self, at: int, operand: Node, field: str, *, optional: bool) -> CelType:
        target, was_optional = unwrapped(self.found.apply(operand.type))
        result = ERROR
        match target.kind:
            case Kind.MAP:
                result = target.parameters[1]
            case Kind.STRUCT:
                result = self._field_of_struct(at, target.name, field)
            case Kind.PARAMETER:
                self.found.assignable(DYN, target)
                result = DYN
            case Kind.DYN | Kind.ERROR:
                result = DYN
            case _:
                self._report(at, f"type '{describe(target)}' does not support field selection")
                result = DYN
        return optional_of(result) if was_optional or optional else result

    def _field_of_struct(self, at: int, struct: str, field: str) -> CelType:
        structs = self.environment.structs
        if (found := structs.field(struct, field)) is not None:
            return found
        known = structs.known(struct)
        self._report(at, f"undefined field '{field}'" if known else f"unexpected failed resolution of '{struct}'")
        return ERROR

    def _call(self, node: Call) -> Node:
        if node.function == "_?._":
            return self._optional_select(node)
        node.arguments = [self.check(each) for each in node.arguments]
        function = self.environment.function(node.function) if node.target is None else None
        if node.target is not None:
            prefix = qualified_name(node.target)
            if prefix is not None and (function := self.environment.function(f"{prefix}.{node.function}")) is not None:
                node.target = None
            else:
                node.target = self.check(node.target)
                function = self.environment.function(node.function)
        if function is None:
            node.type = ERROR
            self._report(node.at, f"undeclared reference to '{node.function}' (in container '')")
            return node
        node.function = function.name
        self._overload(node, function)
        return node

    def _optional_select(self, node: Call) -> Node:
        operand, field = node.arguments
        assert isinstance(field, Literal)  # by the parser
        node.arguments[0] = self.check(operand)
        field.type = STRING
        node.type = self.found.apply(self._field(node.at, node.arguments[0], field.value, optional=True))
        node.overloads = ["select_optional_field"]
        return node

    def _overload(self, node: Call, function: Function) -> None:
        member = node.target is not None
        given = [each.type for each in ([node.target, *node.arguments] if node.target else node.arguments)]
        if function.name in _LOGICAL:
            self._logical(node, function, given)
            return
        exact = function.exact.get((member, *((each.kind, each.name) for each in given)))
        if exact is not None:
            node.type, node.overloads = exact.result, [exact.id]
            return
        result = self._general_overload(node, function, given)
        if result is None:
            node.type = ERROR
            self._report(node.at, self._no_overload(function.name, given, member))
        else:
            node.type = result

    def _general_overload(self, node: Call, function: Function, given: list[CelType]) -> CelType | None:
        result: CelType | None = None
        for overload in function.overloads:
            if overload.member is not (node.target is not None):
                continue
            wanted, gives = list(overload.arguments), overload.result
            if overload.generic:
                names = {name: self.found.fresh() for name in overload.parameters}
                wanted = [rename(each, names) for each in wanted]
                gives = rename(gives, names)
            if not self.found.all_assignable(given, wanted):
                continue
            node.overloads.append(overload.id)
            gives = self.found.apply(gives)
            if result is None:
                result = gives
            elif result.kind is not Kind.DYN and not same(gives, result):
                result = DYN
        return result

    def _logical(self, node: Call, function: Function, given: list[CelType]) -> None:
        node.overloads = [function.overloads[0].id]
        node.type = BOOL
        for argument, each in zip(node.arguments, given, strict=True):
            if each is not BOOL and not self.found.assignable(each, BOOL):
                self._report(argument.at, f"expected type 'bool' but found '{describe(each)}'")
                node.type = ERROR

    def _no_overload(self, name: str, given: list[CelType], member: bool) -> str:
        written = [describe(self.found.apply(each, final=True)) for each in given]
        signature = f"{written[0]}.({', '.join(written[1:])})" if member else f"({', '.join(written)})"
        return f"found no matching overload for '{name}' applied to '{signature}'"

    def _join(self, previous: CelType | None, current: CelType) -> CelType:
        if previous is None:
            return current
        if self.found.assignable(previous, current):
            return most_general(previous, current)
        return DYN  # `validate` refuses mixed types later, except in the arguments of `format`

    def _option(self, node: Node, optional: bool) -> CelType:
        """The type of a list element, map value or field value. For `?x` it is the type within the optional."""
        if not optional:
            return node.type
        inner, was_optional = unwrapped(node.type)
        if not was_optional and inner.kind is not Kind.DYN:
            wanted = describe(optional_of(inner))
            self._report(node.at, f"expected type '{wanted}' but found '{describe(inner)}'")
        return inner

    def _list(self, node: ListLiteral) -> None:
        joined: CelType | None = None
        for at, element in enumerate(node.elements):
            element = node.elements[at] = self.check(element)
            joined = self._join(joined, self._option(element, at in node.optional))
        node.type = list_of(joined or self.found.fresh())

    def _map(self, node: MapLiteral) -> None:
        keys: CelType | None = None
        values: CelType | None = None
        for entry in node.entries:
            keys, values = self._entry(entry, keys, values)
        node.type = map_of(keys or self.found.fresh(), values or self.found.fresh())

    def _entry(self, entry: MapEntry, keys: CelType | None, values: CelType | None) -> tuple[CelType, CelType]:
        entry.key = self.check(entry.key)
        keys = self._join(keys, entry.key.type)
        entry.value = self.check(entry.value)
        return keys, self._join(values, self._option(entry.value, entry.optional))

    def _struct(self, node: StructLiteral) -> None:
        name = node.name = node.name.removeprefix(".")
        if self.environment.structs.maker(name) is not None:
            node.type = struct(name)
            for each in node.fields:
                self._field_value(name, each)
            return
        known, node.type = self._lookup(name), ERROR
        if known is None:
            self._report(node.at, f"undeclared reference to '{name}' (in container '')")
        elif known.kind is not Kind.TYPE:
            self._report(node.at, f"'{known.name}' is not a type")
        else:
            self._report(node.at, f"'{known.parameters[0].name}' is not a message type")

    def _field_value(self, of: str, given: FieldInit) -> None:
        given.value = self.check(given.value)
        wanted = self._field_of_struct(given.at, of, given.name)
        provided = self._option(given.value, given.optional)
        if not self.found.assignable(wanted, provided):
            expected = f"expected type of field '{given.name}' is '{describe(wanted)}'"
            self._report(given.at, f"{expected} but provided type is '{describe(provided)}'")

    def _comprehension(self, node: Comprehension) -> None:
        node.range = self.check(node.range)
        node.initial = self.check(node.initial)
        accumulated = node.initial.type
        self.scopes.append({node.accumulator: accumulated})
        self.scopes.append(self._iteration_variables(node))
        node.condition = self.check(node.condition)
        self._must_be(node.condition, BOOL)
        node.step = self.check(node.step)
        self._must_be(node.step, accumulated)
        self.scopes.pop()
        node.result = self.check(node.result)
        self.scopes.pop()
        node.type = self.found.apply(node.result.type)

    def _iteration_variables(self, node: Comprehension) -> dict[str, CelType]:
        over = self.found.apply(node.range.type)
        match over.kind:
            case Kind.LIST:
                first, second = over.parameters[0], over.parameters[0]
                if node.variable2:
                    first = INT
            case Kind.MAP:
                first, second = over.parameters
            case Kind.DYN | Kind.ERROR | Kind.PARAMETER:
                self.found.assignable(DYN, over)
                first = second = DYN
            case _:
                what = f"expression of type '{describe(over)}' cannot be range of a comprehension"
                self._report(node.range.at, f"{what} (must be list, map, or dynamic)")
                first = second = ERROR
        return {node.variable: first, node.variable2: second} if node.variable2 else {node.variable: first}

    def _must_be(self, node: Node, wanted: CelType) -> None:
        if wanted is not node.type and not self.found.assignable(wanted, node.type):
            self._report(node.at, f"expected type '{describe(wanted)}' but found '{describe(node.type)}'")
