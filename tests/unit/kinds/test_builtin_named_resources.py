"""Every resource that the code names as a literal is served, so that no look-up fails by a typo."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from gateway.kinds.builtin import builtin_registry
from gateway.kinds.identity import GroupVersionResource, core

SOURCE = Path(__file__).parents[3] / "gateway"


def _named() -> Iterator[tuple[str, GroupVersionResource | None]]:
    """Calls of core() and GroupVersionResource() with their places; None for a name that is put together."""
    for path in sorted(SOURCE.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if "core(" not in source and "GroupVersionResource(" not in source:
            continue
        for node in ast.walk(ast.parse(source)):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
                continue
            place = f"{path.relative_to(SOURCE)}:{node.lineno}"
            given = [each.value for each in node.args if isinstance(each, ast.Constant)]
            if any(isinstance(each, ast.JoinedStr) for each in node.args) and node.func.id == "core":
                yield place, None
            elif len(given) != len(node.args) or node.keywords:
                continue
            elif node.func.id == "core":
                yield place, core(str(given[0]))
            elif node.func.id == "GroupVersionResource":
                yield place, GroupVersionResource(*map(str, given))


def test_all_are_served() -> None:
    named, registry = dict(_named()), builtin_registry()
    assert len(named) > 20, "they are not found any more"
    assert [place for place, resource in named.items() if resource is None] == [], "a resource is named whole"
    assert {each for each in named.items() if each[1] and registry.get(*each[1]) is None} == set()
