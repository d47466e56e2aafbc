"""Each public class has a name of its own, and each test name states a rule."""

from __future__ import annotations

import ast
import re
from collections import defaultdict

from tests.unit.sources import modules, trees
from tests.unit.test_mirror import ROOT

CHARACTERS = 80
TESTS = re.compile(r"^\s*(?:async )?def (test_\w+)", re.MULTILINE)


def test_names_of_tests_are_not_longer_than_a_line_can_show() -> None:
    found = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in (ROOT / "tests").rglob("test_*.py")
        for name in TESTS.findall(path.read_text(encoding="utf-8"))
        if len(name) > CHARACTERS
    }
    assert found == set()


def test_a_public_class_name_stands_for_one_class() -> None:
    """In gateway/ and storage/; apiserver_gateway/testing/ has names of its own for its users."""
    found: dict[str, list[str]] = defaultdict(list)
    for name, tree in trees().items():
        if name.startswith("apiserver_gateway") or "generated" in modules()[name].parts:
            continue
        for node in ast.iter_child_nodes(tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(name)
    assert {name: of for name, of in found.items() if len(of) > 1} == {}


def test_a_constant_that_limits_a_wait_is_called_timeout() -> None:
    names = {
        f"{module}.{target.id}"
        for module, tree in trees().items()
        for node in ast.iter_child_nodes(tree)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name) and "PATIENCE" in target.id
    }
    assert names == set()
