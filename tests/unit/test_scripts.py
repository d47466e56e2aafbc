"""The programs of hack/ import from each other what is there: each is run rarely, some only by .ci/run."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

HACK = Path(__file__).resolve().parents[2] / "hack"
SCRIPTS = sorted(HACK.glob("*.py"))


def _defined(file: Path) -> set[str]:
    """The names that a module has at its top."""
    found = set[str]()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.Name(id=name, ctx=ast.Store()):
                found.add(name)
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                found.update((each.asname or each.name).partition(".")[0] for each in names)
    return found


def _file_of(module: str) -> Path:
    return HACK.joinpath(*module.removeprefix("hack.").split(".")).with_suffix(".py")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_a_script_imports_from_others_what_they_have(script: Path) -> None:
    for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and _file_of(node.module).is_file():
            wanted = {each.name for each in node.names}
            assert wanted <= _defined(_file_of(node.module)), f"{node.module} has no {wanted}"
