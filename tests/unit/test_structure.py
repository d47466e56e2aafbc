"""The rooms of the house: nothing lower imports anything higher, and nothing imports itself in a circle.

Imports inside functions count: those are for what start-up does not need, not for hiding a circle. Imports for type
checkers alone do not count.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]

# From the lowest on; a module belongs to the longest prefix. What stands on one line may import from each other.
ROOMS = (
    ("apiserver_gateway",),
    ("storage.instruments",),
    ("storage",),
    ("gateway.children", "gateway.clock", "gateway.files", "gateway.jsontypes"),
    ("gateway.memo", "gateway.memory", "gateway.pem", "gateway.time_limits", "gateway.version"),
    ("gateway.schema",),
    ("gateway.defaults",),
    ("gateway.validation",),
    ("gateway.cel",),
    ("gateway.http.status",),
    ("gateway.patches",),
    ("gateway.apply",),
    ("gateway.selectors",),
    ("gateway.http",),
    ("gateway.outbound",),
    ("gateway.webhooks",),
    ("gateway.forwarding",),
    ("gateway.kinds",),
    ("gateway.settings",),
    ("gateway.access",),
    ("gateway.credentials",),
    ("gateway.encryption",),
    ("gateway.admission", "gateway.quotas"),
    ("gateway.allocation",),
    ("gateway.encodings",),
    ("gateway.flowcontrol",),
    ("gateway.audit",),
    ("gateway.endpoints",),
    ("gateway.discovery", "gateway.openapi"),
    ("gateway.reading",),
    ("gateway.writing",),
    ("gateway.subresources",),
    ("gateway.proxies",),
    ("gateway.verbs",),
    ("gateway.customresources",),
    ("gateway.controllers",),
    ("gateway.aggregation",),
    ("gateway.requests",),
    ("gateway.observability",),
    ("gateway.trials",),
    ("gateway.operations",),
    ("gateway.doctor", "gateway.launch"),
    ("gateway.transfer",),
    ("gateway.commands",),
    ("gateway.__main__",),
    ("apiserver_gateway.__main__",),
)


@cache
def modules() -> dict[str, Path]:
    """Every module of the project by its name."""
    found = {}
    for top in ("apiserver_gateway", "gateway", "storage"):
        for path in (ROOT / top).rglob("*.py"):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def _is_for_type_checkers(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """All statements in it: imports are no parts of expressions, of which there are many more."""
    waiting = [tree]
    while waiting:
        for node in ast.iter_child_nodes(waiting.pop()):
            if isinstance(node, ast.stmt | ast.excepthandler | ast.match_case) and not _is_for_type_checkers(node):
                yield node
                waiting.append(node)


def _imported(tree: ast.AST) -> Iterator[str]:
    for node in _nodes(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield whole if whole in modules() else node.module


@cache
def imports() -> dict[str, set[str]]:
    """The project's modules that each module imports."""
    return {
        name: {found for found in _imported(ast.parse(path.read_text())) if found in modules()} - {name}
        for name, path in modules().items()
    }


def _room(module: str) -> int:
    fitting = [
        (len(prefix), index)
        for index, prefixes in enumerate(ROOMS)
        for prefix in prefixes
        if module == prefix or module.startswith(prefix + ".")
    ]
    return max(fitting)[1]


def test_nothing_lower_imports_anything_higher() -> None:
    upwards = {
        f"{module} -> {imported}"
        for module, found in imports().items()
        for imported in found
        if _room(imported) > _room(module)
    }
    assert not upwards


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """The sets of nodes that lead back to themselves (Tarjan's strongly connected components)."""
    found: list[list[str]] = []
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []

    def visit(node: str) -> None:
        order[node] = low[node] = len(order)
        stack.append(node)
        for other in sorted(graph[node]):
            if other not in order:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], order[other])
        if low[node] == order[node]:
            component = [stack.pop()]
            while component[-1] != node:
                component.append(stack.pop())
            if len(component) > 1:
                found.append(sorted(component))

    for node in sorted(graph):
        if node not in order:
            visit(node)
    return found


def test_circles_are_found() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == [["b", "c"]]


def test_no_module_leads_back_to_itself() -> None:
    graph = {module: set(found) for module, found in imports().items()}
    assert circles(graph) == []
