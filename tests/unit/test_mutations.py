"""How `python -m tests.upstream mutate` breaks rules, and which tests it runs."""

from __future__ import annotations

from pathlib import Path

from tests.upstream.mutations import mutated, mutations
from tests.upstream.noticing import noticing

ROOT = Path(__file__).parents[2]
SOURCE = """
def allowed(name, user):
    words = "é"; near = user or {}
    if name == "a" and user is not None:
        return f"{name < 3}"
    return (name
            < 3)
"""


def test_each_rule_is_broken_in_its_place(tmp_path: Path) -> None:
    (tmp_path / "rules.py").write_text(SOURCE, encoding="utf-8")
    found = mutations(tmp_path, "rules.py")
    assert [(each.line, each.instead) for each in found] == [
        (4, "(name != 'a')"),
        (4, "(name == 'a')"),
        (4, "(user is not None)"),
        (4, "(user is None)"),
        (6, "(name >= 3)"),
    ]
    assert 'if (user is not None):\n        return f"{name < 3}"' in mutated(SOURCE, found[2])
    assert "    return ((name >= 3))\n" in mutated(SOURCE, found[4])
    for each in found:
        compile(mutated(SOURCE, each), "rules.py", "exec")


def test_the_nearest_tests_are_asked_first() -> None:
    asked = noticing(ROOT, "gateway/validation/names.py")
    assert asked[0] == "tests/unit/validation/test_names.py"
    servers = [place for place, each in enumerate(asked) if each.startswith("tests/integration/writes/")]
    assert 0 < asked.index("tests/unit/validation/test_objectmeta.py") < min(servers)
