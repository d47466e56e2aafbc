"""Checks of the parts of a schema, each compiled when a value first comes to it.

A definition of 1 MB may have 30 000 properties, and its objects few of them: what no object has costs no memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from gateway.jsontypes import JsonObject
from gateway.time_limits import look

R = TypeVar("R")


class Members(dict[str, Callable[..., R]]):
    """What `compile` makes of each property of an object, by its name. Raises KeyError for others."""

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
    """What gives that which `compile` makes of a schema; it is made with the first call."""
    made: list[R] = []

    def given() -> R:
        if not made:
            look()
            made.append(compile(schema))
        return made[0]

    return given
