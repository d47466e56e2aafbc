"""Finds rules in a module that can be broken. Makes its source with one of them broken, or with calls that tell when
some of them are evaluated.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}

LITERALS = (ast.Constant, ast.Dict, ast.List, ast.Tuple)  # `x or {}` sets a default, and is not a rule


@dataclass(frozen=True, slots=True)
class Mutation:
    """A part of a file, by its position in bytes of UTF-8, and its replacement."""

    file: str
    line: int
    start: int
    end: int
    instead: str
    was: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.was[:60]} -> {self.instead[:60]}"


@cache
def mutations(root: Path, file: str) -> list[Mutation]:
    """All mutations of a file, in the order of its lines."""
    source = (root / file).read_text(encoding="utf-8")
    encoded = source.encode()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line.encode()))
    found = []
    for node, instead in _broken(ast.parse(source)):
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        was = " ".join(encoded[start:end].decode().split())
        found.append(Mutation(file, node.lineno, start, end, f"({ast.unparse(instead)})", was))
    return sorted(found, key=lambda each: (each.start, each.end, each.instead))


def mutated(source: str, mutation: Mutation) -> str:
    """The module's source with the rule broken."""
    encoded = source.encode()
    return (encoded[: mutation.start] + mutation.instead.encode() + encoded[mutation.end :]).decode()


FIRST = "from __future__ import annotations\n"  # each module begins with it: no line is shifted by what follows it
CALLED = "reached_by_a_test"


def observed(source: str, numbered: Mapping[int, Mutation]) -> str:
    """The module's source with a call before each of these rules, which has the rule's number."""
    encoded = source.encode()
    edges = [(each.start, 1, -each.end, number) for number, each in numbered.items()]
    edges += [(each.end, 0, -each.start, number) for number, each in numbered.items()]
    for place, begins, _, number in sorted(
        edges, reverse=True
    ):  # from the end; an inner rule is opened after its outer one
        words = f"({CALLED}({number}), (".encode() if begins else b"))[1]"
        encoded = encoded[:place] + words + encoded[place:]
    head = f"{FIRST[:-1]}; from tests.upstream.reached import reached as {CALLED}\n"
    return encoded.decode().replace(FIRST, head, 1)


def _broken(tree: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Expressions and their broken forms. Expressions in f-strings and annotations are left out."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.JoinedStr | ast.Assert) or _is_for_type_checkers(node):
            continue
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            turned = TURNED[type(node.ops[0])]()
            yield node, ast.Compare(node.left, [turned], node.comparators)
        elif isinstance(node, ast.BoolOp) and not any(isinstance(each, LITERALS) for each in node.values):
            for dropped in range(len(node.values)):
                rest = [value for number, value in enumerate(node.values) if number != dropped]
                yield node, rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)
        yield from _broken(node)


def _is_for_type_checkers(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
