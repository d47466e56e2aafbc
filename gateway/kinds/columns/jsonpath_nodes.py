"""The nodes of a parsed JSONPath."""

from __future__ import annotations

from typing import NamedTuple


class PathError(ValueError):
    """A text is not a JSONPath, or a path does not fit an object."""


class Opaque(int):
    """A number that is not from the object: one in the path, or a byte of a string."""


class FieldNode(NamedTuple):
    name: str


class Slice(NamedTuple):
    start: int | None
    end: int | None
    step: int | None
    single: bool  # written as one index: the end is the start + 1


class Wildcard(NamedTuple):
    pass


class Recursive(NamedTuple):
    pass


class Text(NamedTuple):
    text: str


class LiteralNode(NamedTuple):
    value: bool | float | Opaque


class Keyword(NamedTuple):
    """A word such as "range", which has a meaning in templates only."""

    name: str


class Filter(NamedTuple):
    left: tuple[Node, ...]
    right: tuple[Node, ...]
    operator: str  # "exists" has no right side


class Union(NamedTuple):
    paths: tuple[tuple[Node, ...], ...]


Node = FieldNode | Slice | Wildcard | Recursive | Text | LiteralNode | Keyword | Filter | Union
