"""Finds the tests that can notice a broken module: those that import it, and server tests for its part."""

from __future__ import annotations

import ast
from collections import deque
from functools import cache
from pathlib import Path

SERVERS = {  # part of the server -> folders of tests in which a server does that part's work
    "gateway/validation": ("writes", "customresources", "representations"),
    "gateway/admission": ("admission", "writes"),
    "gateway/quotas": ("quotas",),
    "storage": ("etcd", "reads", "writes"),
    "gateway/access": ("access",),
}
FAR = 99


def noticing(root: Path, file: str) -> list[str]:
    """Files of tests, nearest first: by the number of imports between; files with the module's name come first."""
    module = _name(Path(file))
    near = _distances(root, module)
    unit = [path for path in sorted((root / "tests/unit").rglob("test_*.py")) if _distance(root, path, near) < FAR]
    words = {module.rpartition(".")[2].rstrip("s"), Path(file).parent.name.rstrip("s")}

    def place(path: Path) -> tuple[int, int, str]:
        like = sum(word in path.as_posix() for word in words)
        return _distance(root, path, near), -like, path.as_posix()

    part = next(part for part in SERVERS if file.startswith(part))
    above = root / "tests/integration"
    servers = [each for folder in SERVERS[part] for each in sorted((above / folder).glob("test_*.py"))]
    close = [path for path in sorted(unit, key=place) if _distance(root, path, near) <= 2]
    own = sorted((root / "tests/unit" / part.rpartition("/")[2]).rglob("test_*.py"))
    return list(dict.fromkeys(path.relative_to(root).as_posix() for path in [*close, *own, *servers]))


def _name(file: Path) -> str:
    parts = file.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def _distances(root: Path, module: str) -> dict[str, int]:
    """The number of imports from one module to each other module."""
    importers: dict[str, set[str]] = {}
    for name, imported in _imports(root).items():
        for each in imported:
            importers.setdefault(each, set()).add(name)
    found, queue = {module: 0}, deque([module])
    while queue:
        each = queue.popleft()
        for one in importers.get(each, ()):
            if one not in found:
                found[one] = found[each] + 1
                queue.append(one)
    return found


@cache
def _imports(root: Path) -> dict[str, set[str]]:
    files = [path for top in ("gateway", "storage") for path in (root / top).rglob("*.py")]
    return {_name(path.relative_to(root)): _imported(path) for path in files}


@cache
def _imported(path: Path) -> set[str]:
    """The modules that a file imports, and those that it may import: `from a import b` may mean a.b."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def _distance(root: Path, test: Path, near: dict[str, int]) -> int:
    return min((near[each] for each in _imported(test) if each in near), default=FAR)
