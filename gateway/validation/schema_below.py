"""Checks of the parts of a schema, each compiled when a value first needs it.

A definition of 1 MB may have 30 000 properties, and its objects only a few. Properties that no object has take no
memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from gateway.jsontypes import JsonObject
from gateway.time_limits import look

R = TypeVar("R")


class CompiledMembers(dict[str, Callable[..., R]]):
    """Maps the name of a property to `compile(schema)`, made on first use. Raises KeyError for other names."""

    __slots__ = ("_compile", "_schemas")

    def __init__(self, schemas: JsonObject, compile: Callable[[Any], Callable[..., R]]) -> None:
        super().__init__()
        self._schemas, self._compile = schemas, compile

    def __missing__(self, name: str) -> Callable[..., R]:
        schema = self._schemas[name]
        look()
        found = self[name] = self._compile(schema)
        return found


def later(compile: Callable[[Any], R], schema: Any) -> Callable[[], R]:
    """Returns a function that returns `compile(schema)`, which runs once, on the first call."""
    made: list[R] = []

    def given() -> R:
        if not made:
            look()
            made.append(compile(schema))
        return made[0]

    return given
