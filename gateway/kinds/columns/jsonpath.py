"""JSONPath in the dialect of Kubernetes ("JSONPath Support"), for additionalPrinterColumns.

Paths and objects come from users who may not be trusted. So a path is parsed in linear time up to a length, and its
evaluation takes no more steps than the caller allows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from gateway.kinds.columns.comparison import compare
from gateway.kinds.columns.jsonpath_nodes import (
    FieldNode,
    Filter,
    Keyword,
    LiteralNode,
    Node,
    Opaque,
    PathError,
    Recursive,
    Slice,
    Text,
    Union,
    Wildcard,
)
from gateway.kinds.columns.jsonpath_parser import parse

__all__ = ["MISSING", "Budget", "JsonPath", "PathError"]

MISSING = object()
MOST_WEIGHT = 1 << 20
_MANY = (Recursive, Wildcard, Filter)


class Budget:
    """How many more values an evaluation may look at."""

    __slots__ = ("left",)

    def __init__(self, steps: int) -> None:
        self.left = steps

    def spend(self, steps: int) -> None:
        """Takes `steps` from the budget. Raises PathError when it is used up."""
        self.left -= steps
        if self.left < 0:
            raise PathError("the path leads to too many values")


@dataclass(frozen=True, slots=True)
class JsonPath:
    """A parsed path. `JsonPath.of` raises PathError for an invalid one."""

    actions: tuple[tuple[Node, ...], ...]

    @staticmethod
    def of(text: str) -> JsonPath:
        return JsonPath(parse(text))

    @property
    def weight(self) -> int:
        """How many values, about, the path looks at for each 16 bytes of an object.

        A path with a union, or with two recursive descents, may look at a value many times: it gets `MOST_WEIGHT`.
        """
        steps = list(_all_steps(self.actions))
        many = sum(isinstance(step, _MANY) for step in steps)
        many_times = sum(isinstance(step, Recursive) for step in steps) > 1
        if many_times or any(isinstance(step, Union) for step in steps):
            return MOST_WEIGHT
        return len(steps) // 16 + 4 * many

    def first(self, value: Any, budget: Budget) -> Any:
        """The first value at the path; MISSING if there is none. Raises PathError if the path does not fit the object.

        Of several actions, "a}{b", the first gives the result, but an error in the others is raised too.
        """
        results = [_follow([value], nodes, budget) for nodes in self.actions]
        return results[0][0] if results and results[0] else MISSING


def _all_steps(paths: Iterable[tuple[Node, ...]]) -> Iterator[Node]:
    for path in paths:
        for node in path:
            yield node
            match node:
                case Union(below):
                    yield from _all_steps(below)
                case Filter(left, right, _):
                    yield from _all_steps((left, right))


def _follow(values: list[Any], nodes: tuple[Node, ...], budget: Budget) -> list[Any]:
    for node in nodes:
        budget.spend(len(values) + 1)
        values = _step(values, node, budget)
    return values


def _step(values: list[Any], node: Node, budget: Budget) -> list[Any]:
    match node:
        case FieldNode(name):
            return [value[name] for value in values if isinstance(value, dict) and name in value]
        case Slice():
            return _slices(values, node, budget)
        case Wildcard():
            found = list[Any]()
            for value in values:
                children = _children(value, budget)
                found += children
            return found
        case Recursive():
            return list(_descendants(values, budget))
        case Filter(left, right, operator):
            return _filtered(values, left, right, operator, budget)
        case Union(paths):
            return [value for path in paths for value in _follow(values, path, budget)]
        case Text(text):
            return [text]
        case LiteralNode(literal):
            return [literal] * len(values)
        case Keyword(name):
            raise PathError(f"unrecognized identifier {name}")


def _children(value: Any, budget: Budget) -> list[Any]:
    """The members or items of a value; the bytes of a string."""
    if isinstance(value, dict):
        children = list(value.values())
    elif isinstance(value, list):
        children = value
    elif isinstance(value, str):
        budget.spend(len(value))
        children = list(map(Opaque, value.encode("utf-8", "surrogatepass")))
    else:
        return []
    budget.spend(len(children))
    return children


def _descendants(values: list[Any], budget: Budget) -> Iterator[Any]:
    """The values and all values below them, parents first; only objects, lists and strings that are not empty."""
    stack = values[::-1]
    while stack:
        value = stack.pop()
        if value and isinstance(value, str):
            budget.spend(1)
            yield value
        elif value and isinstance(value, (dict, list)):
            yield value
            stack += reversed(_children(value, budget))


def _slices(values: list[Any], node: Slice, budget: Budget) -> list[Any]:
    found = list[Any]()
    for value in values:
        if value is None:
            continue
        if not isinstance(value, list):
            raise PathError("a value is not array or slice")
        length = len(value)
        start = 0 if node.start is None else node.start
        end = length if node.end is None else node.end
        start = start + length if start < 0 else start
        end = end + length if end < 0 or (end == 0 and node.single) else end
        if start == end:
            return found
        if not 0 <= start < length or not 0 <= end <= length or start > end:
            raise PathError("array index out of bounds")
        if node.step is not None and node.step <= 0:
            raise PathError("step must be > 0")
        part = value[start : end : node.step or 1]
        budget.spend(len(part))
        found += part
    return found


def _filtered(
    values: list[Any], left: tuple[Node, ...], right: tuple[Node, ...], operator: str, budget: Budget
) -> list[Any]:
    found = list[Any]()
    for value in values:
        if not isinstance(value, list):
            raise PathError("a value is not array or slice and cannot be filtered")
        for item in value:
            if operator == "exists":
                passes = _exists(item, left, budget)
            else:
                sides = _sides(item, left, right, budget)
                passes = sides is not None and compare(operator, *sides)
            if passes:
                found.append(item)
    return found


def _exists(item: Any, path: tuple[Node, ...], budget: Budget) -> bool:
    try:
        return bool(_follow([item], path, budget))
    except PathError:
        if budget.left < 0:
            raise
        return True  # in Go, a path that fails in a filter still counts as found


def _sides(item: Any, left: tuple[Node, ...], right: tuple[Node, ...], budget: Budget) -> tuple[Any, Any] | None:
    lefts = _follow([item], left, budget)
    if not lefts:
        return None
    if len(lefts) > 1:
        raise PathError("can only compare one element at a time")
    rights = _follow([item], right, budget)
    if not rights:
        return None
    if len(rights) > 1:
        raise PathError("can only compare one element at a time")
    return lefts[0], rights[0]
