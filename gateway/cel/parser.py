"""Parses the text of an expression into a syntax tree (cel-spec, "Syntax").

The parser limits the nesting of expressions, relations, sums and members, each to `DEEPEST`, as cel-go does.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from gateway.cel.ast import (
    Call,
    Copies,
    FieldInit,
    Ident,
    ListLiteral,
    Literal,
    MapEntry,
    MapLiteral,
    Node,
    Select,
    StructLiteral,
)
from gateway.cel.lexer import LexerError, tokens
from gateway.cel.literals import integer, unquote, unquote_bytes
from gateway.cel.macros import MacroError, expand
from gateway.cel.names import RESERVED
from gateway.cel.source import NO_LOCATION, CompilationError, Problem
from gateway.cel.values import INT_MAX, INT_MIN, UINT_MAX, Uint

LONGEST_EXPRESSION = 100_000
DEEPEST = 250
# Some macros use their target twice, and copy its nodes. Nested in targets, such macros double the nodes each time:
# this limits the copied nodes of one expression.
MOST_COPIED = 10_000
_RELATIONS = {op: f"_{op}_" for op in ("<", "<=", ">=", ">", "==", "!=")} | {"in": "@in"}
_SUMS = {"+": "_+_", "-": "_-_"}
_PRODUCTS = {"*": "_*_", "/": "_/_", "%": "_%_"}


class _Unexpected(Exception):
    """The grammar does not allow the token at the offset that is the exception's argument."""


class _TooDeep(Exception):
    pass


def parse(text: str, libraries: Collection[str] = (), *, plain: bool = False) -> Node:
    """The syntax tree of an expression. The standard macros and those of the optional `libraries` are expanded.

    With `plain`, no macro is expanded, and optional syntax is an error. Raises CompilationError with the message of
    cel-go.
    """
    if len(text) > LONGEST_EXPRESSION:
        size = f"expression code point size exceeds limit: size: {len(text)}, limit {LONGEST_EXPRESSION}"
        raise CompilationError(text, [Problem(NO_LOCATION, size)])
    try:
        parser = _Parser(text, libraries, plain)
        tree = parser.whole()
    except (_Unexpected, LexerError) as found:
        from gateway.cel.syntax_errors import syntax_problems  # slow to import, and rarely needed

        raise CompilationError(text, syntax_problems(text, found.args[0], _literal_problems)) from None
    except (_TooDeep, RecursionError):
        deep = f"expression recursion limit exceeded: {DEEPEST}"
        raise CompilationError(text, [Problem(NO_LOCATION, deep)]) from None
    if parser.problems:
        raise CompilationError(text, parser.problems)
    return tree


def _literal_problems(text: str) -> list[Problem]:
    try:
        parse(text)
    except CompilationError as error:
        return error.problems
    return []


class _Parser:
    __slots__ = ("at", "copies", "depths", "kinds", "libraries", "places", "plain", "problems", "texts")

    def __init__(self, text: str, libraries: Collection[str], plain: bool) -> None:
        self.libraries, self.plain = libraries, plain
        self.kinds, self.texts, self.places = tokens(text)
        self.at = 0
        self.problems = list[Problem]()
        self.copies = Copies(MOST_COPIED)
        # the present nesting of expressions, relations, sums and members
        self.depths = [0, 0, 0, 0]

    def whole(self) -> Node:
        tree = self.expression()
        if self.kinds[self.at] != "EOF":
            raise self._unexpected()
        return tree

    def _deepen(self, which: int, by: int = 1) -> None:
        self.depths[which] += by
        if self.depths[which] > DEEPEST:
            raise _TooDeep

    def expression(self) -> Node:
        self._deepen(0)
        tree = self.alternatives()
        if self.kinds[self.at] == "?":
            place = self.places[self.at]
            self.at += 1
            chosen = self.alternatives()
            self._expect(":")
            tree = Call(place, "_?_:_", None, [tree, chosen, self.expression()])
        self.depths[0] -= 1
        return tree

    def alternatives(self) -> Node:
        """`a && b || c && d`."""
        terms, places = [self.conjunction()], list[int]()
        while self.kinds[self.at] == "||":
            places.append(self.places[self.at])
            self.at += 1
            terms.append(self.conjunction())
        return balanced("_||_", terms, places)

    def conjunction(self) -> Node:
        terms, places = [self.relation()], list[int]()
        while self.kinds[self.at] == "&&":
            places.append(self.places[self.at])
            self.at += 1
            terms.append(self.relation())
        return balanced("_&&_", terms, places)

    def relation(self) -> Node:
        self._deepen(1)
        tree, opened = self.sum(), 1
        while (function := _RELATIONS.get(self.kinds[self.at])) is not None:
            place = self.places[self.at]
            self.at += 1
            self._deepen(1)
            opened += 1
            tree = Call(place, function, None, [tree, self.sum()])
        self.depths[1] -= opened
        return tree

    def sum(self) -> Node:
        self._deepen(2)
        tree, opened = self.product(), 1
        while (function := _SUMS.get(self.kinds[self.at])) is not None:
            place = self.places[self.at]
            self.at += 1
            self._deepen(2)
            opened += 1
            tree = Call(place, function, None, [tree, self.product()])
        self.depths[2] -= opened
        return tree

    def product(self) -> Node:
        tree, opened = self.unary(), 0
        while (function := _PRODUCTS.get(self.kinds[self.at])) is not None:
            place = self.places[self.at]
            self.at += 1
            self._deepen(2)
            opened += 1
            tree = Call(place, function, None, [tree, self.unary()])
        self.depths[2] -= opened
        return tree

    def unary(self) -> Node:
        kind, start, kinds = self.kinds[self.at], self.at, self.kinds
        if kind == "!" or (kind == "-" and kinds[self.at + 1] not in ("INT", "FLOAT")):
            while kinds[self.at] == kind:
                self.at += 1
            odd = (self.at - start) % 2
            tree = self.member()
            return Call(self.places[start], f"{kind}_", None, [tree]) if odd else tree
        return self.member()

    def member(self) -> Node:
        self._deepen(3)
        tree, opened, kinds = self.primary(), 1, self.kinds
        while (kind := kinds[self.at]) == "." or kind == "[":
            self._deepen(3)
            opened += 1
            tree = self._after_dot(tree) if kind == "." else self._index(tree)
        self.depths[3] -= opened
        return tree

    def _after_dot(self, operand: Node) -> Node:
        dot, kinds = self.places[self.at], self.kinds
        self.at += 1
        optional = self._optional(".")
        name, place, kind = self.texts[self.at], self.places[self.at], kinds[self.at]
        if kind == "ESCAPED":
            self.at += 1
            self._report(place, "unsupported syntax: '`'")
            return operand
        if kind != "IDENT":
            raise self._unexpected()
        self.at += 1
        if kinds[self.at] == "(" and not optional:
            opening = self.places[self.at]
            return self._call(opening, name, operand, self._arguments())
        if optional:
            return Call(dot, "_?._", None, [operand, Literal(place, name)])
        return Select(dot, operand, name)

    def _index(self, operand: Node) -> Node:
        place = self.places[self.at]
        self.at += 1
        optional = self._optional("[")
        index = self.expression()
        self._expect("]")
        return Call(place, "_[?_]" if optional else "_[_]", None, [operand, index])

    def _arguments(self) -> list[Node]:
        self.at += 1
        arguments = list[Node]()
        if self.kinds[self.at] == ")":
            self.at += 1
            return arguments
        while True:
            arguments.append(self.expression())
            if self.kinds[self.at] != ",":
                break
            self.at += 1
        self._expect(")")
        return arguments

    def _call(self, place: int, name: str, target: Node | None, arguments: list[Node]) -> Node:
        if self.plain:
            return Call(place, name, target, arguments)
        try:
            expanded = expand(place, name, target, arguments, self.copies, self.libraries)
            return expanded or Call(place, name, target, arguments)
        except MacroError as error:
            return self._report(error.at, error.message)

    def primary(self) -> Node:
        kind, place = self.kinds[self.at], self.places[self.at]
        if kind == "IDENT":
            return self._named(place, "")
        if kind == "(":
            self.at += 1
            tree = self.expression()
            self._expect(")")
            return tree
        if kind == "[":
            return self._list(place)
        if kind == "{":
            return self._map(place)
        if kind == ".":
            self.at += 1
            if self.kinds[self.at] != "IDENT":
                raise self._unexpected()
            return self._named(place, ".")
        return self._literal(kind, place)

    def _named(self, place: int, dot: str) -> Node:
        """A name, a call, or an object literal."""
        end = self.at + 1
        while self.kinds[end] == "." and self.kinds[end + 1] == "IDENT":
            end += 2
        if self.kinds[end] == "{":
            return self._struct(dot + "".join(self.texts[self.at : end]), end)
        name, here = self.texts[self.at], self.places[self.at]
        self.at += 1
        opening = self.places[self.at] if self.kinds[self.at] == "(" else None
        arguments = self._arguments() if opening is not None else []
        if name in RESERVED:
            return self._report(place, f"reserved identifier: {name}")
        if opening is None:
            return Ident(here, dot + name)
        return self._call(opening, dot + name, None, arguments)

    def _struct(self, name: str, brace: int) -> Node:
        place, fields = self.places[brace], list[FieldInit]()
        self.at = brace + 1
        while self.kinds[self.at] not in ("}", ","):
            optional = self._optional()
            if self.kinds[self.at] not in ("IDENT", "ESCAPED"):
                raise self._unexpected()
            field = self.texts[self.at]
            if self.kinds[self.at] == "ESCAPED":
                self._report(self.places[brace + 1], "unsupported syntax: '`'")
            self.at += 1
            colon = self.places[self.at]
            self._expect(":")
            fields.append(FieldInit(colon, field, self.expression(), optional))
            if not self._another("}"):
                break
        self._close("}")
        return StructLiteral(place, name, fields)

    def _list(self, place: int) -> Node:
        self.at += 1
        elements, optional = list[Node](), list[int]()
        while self.kinds[self.at] not in ("]", ","):
            if self._optional():
                optional.append(len(elements))
            elements.append(self.expression())
            if not self._another("]"):
                break
        self._close("]")
        return ListLiteral(place, elements, frozenset(optional))

    def _map(self, place: int) -> Node:
        self.at += 1
        entries = list[MapEntry]()
        while self.kinds[self.at] not in ("}", ","):
            optional = self._optional()
            key = self.expression()
            colon = self.places[self.at]
            self._expect(":")
            entries.append(MapEntry(colon, key, self.expression(), optional))
            if not self._another("}"):
                break
        self._close("}")
        return MapLiteral(place, entries)

    def _optional(self, before: str = "") -> bool:
        """Passes over a question mark; whether there was one. `before` is the sign before it."""
        if self.kinds[self.at] != "?":
            return False
        if self.plain:
            self._report(self.places[self.at], f"unsupported syntax '{before}?'")
        self.at += 1
        return True

    def _another(self, closing: str) -> bool:
        if self.kinds[self.at] == "," and self.kinds[self.at + 1] != closing:
            self.at += 1
            if self.kinds[self.at] == ",":
                raise self._unexpected()
            return True
        return False

    def _close(self, closing: str) -> None:
        self.at += self.kinds[self.at] == ","
        self._expect(closing)

    def _literal(self, kind: str, place: int) -> Node:
        sign = ""
        if kind == "-":
            sign, kind = "-", self.kinds[self.at + 1]
            if kind not in ("INT", "FLOAT"):
                raise self._unexpected()
            self.at += 1
        text = self.texts[self.at]
        self.at += 1
        value: Any
        match kind:
            case "STRING" | "BYTES":
                try:
                    value = unquote(text) if kind == "STRING" else unquote_bytes(text[1:])
                except ValueError as error:
                    self._report(place, str(error))
                    value = text
            case "INT":
                value = integer(sign + text)
                if not INT_MIN <= value <= INT_MAX:
                    return self._report(place, "invalid int literal")
            case "UINT":
                value = Uint(integer(text[:-1]))
                if value > UINT_MAX:
                    return self._report(place, "invalid uint literal")
            case "FLOAT":
                value = float(sign + text)
                if value in (float("inf"), float("-inf")):
                    return self._report(place, "invalid double literal")
            case "true" | "false":
                value = kind == "true"
            case "null":
                value = None
            case _:
                raise self._unexpected()
        return Literal(place, value)

    def _expect(self, kind: str) -> None:
        if self.kinds[self.at] != kind:
            raise self._unexpected()
        self.at += 1

    def _unexpected(self) -> _Unexpected:
        return _Unexpected(self.places[min(self.at, len(self.places) - 1)])

    def _report(self, at: int, message: str) -> Node:
        self.problems.append(Problem(at, message))
        return Literal(at, None)


def balanced(function: str, terms: list[Node], places: list[int]) -> Node:
    """A chain of `&&` or `||` as a balanced binary tree, as cel-go builds it. `places` has the operators' offsets."""
    if not places:
        return terms[0]
    middle = len(places) // 2
    sides = [
        balanced(function, terms[: middle + 1], places[:middle]),
        balanced(function, terms[middle + 1 :], places[middle + 1 :]),
    ]
    return Call(places[middle], function, None, sides)
