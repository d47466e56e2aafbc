"""The modules of the project: their files, texts and syntax trees."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]


@cache
def modules() -> dict[str, Path]:
    """Every module of the project by its name."""
    found = {}
    for top in ("apiserver_gateway", "gateway", "storage"):
        for path in (ROOT / top).rglob("*.py"):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def tree_of(name: str) -> ast.Module:
    """The syntax tree of a module."""
    return ast.parse(modules()[name].read_text(encoding="utf-8"))


@cache
def trees() -> dict[str, ast.Module]:
    """The syntax tree of each module. It takes five seconds: where a word has to be in the text, ask `with_word`."""
    return {name: tree_of(name) for name in modules()}


def with_word(*words: str) -> Iterator[str]:
    """The modules of the server whose text has one of the words."""
    for name, path in modules().items():
        if name.split(".")[0] in ("gateway", "storage"):
            text = path.read_text(encoding="utf-8")
            if any(word in text for word in words):
                yield name
