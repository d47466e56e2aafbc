"""How `python -m tests.upstream mutate` breaks rules, and which tests it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.upstream.mutate import FIRST as FIRST_BATCH
from tests.upstream.mutate import THEN, in_batches
from tests.upstream.mutations import FIRST, mutated, mutations, observed
from tests.upstream.noticing import Noticing, named
from tests.upstream.reached import IMPORTED

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


def test_what_evaluates_a_rule_is_told_for_each_of_them(tmp_path: Path) -> None:
    source = FIRST + SOURCE
    (tmp_path / "rules.py").write_text(source, encoding="utf-8")
    rules = dict(enumerate(mutations(tmp_path, "rules.py")))
    told: list[int] = []
    words = observed(source, rules).replace("from tests.upstream.reached import reached as reached_by_a_test", "")
    names: dict[str, Any] = {"reached_by_a_test": told.append}
    exec(compile(words, "rules.py", "exec"), names)  # it is the text above
    assert names["allowed"](2, "u") is True and told == [1, 2, 0, 4]


def test_the_likeliest_tests_run_first() -> None:
    rule = next(each for each in mutations(ROOT, "gateway/validation/names.py"))
    own, room, other = (
        f"tests/unit/{each}" for each in ("validation/test_names.py::t", "validation/test_a.py::t", "b/c.py::t")
    )
    part, far = "tests/integration/writes/test_a.py::t", "tests/integration/quotas/test_a.py::t"
    seconds = {own: 5.0, room: 2.0, other: 1.0, part: 0.5, far: 0.1}
    assert Noticing({7: set(seconds)}, seconds).tests(7, rule) == ([own, room, other, part], [far])
    assert Noticing({7: {IMPORTED}}, seconds).tests(7, rule) == ([own, room, other, part], [far])
    assert Noticing({}, seconds).tests(7, rule) == ([], [])


def test_unit_tests_of_a_module_are_found_by_name_and_import() -> None:
    rule = next(each for each in mutations(ROOT, "gateway/quotas/groups.py"))
    first, room = named(ROOT, rule)
    assert first[0] == "tests/unit/quotas/test_groups.py"
    assert all("gateway.quotas.groups" in (ROOT / file).read_text(encoding="utf-8") for file in first)
    assert "tests/unit/quotas/test_marks.py" in room and not set(first) & set(room)


def test_the_first_batch_is_small() -> None:
    tests = [f"t{number}" for number in range(FIRST_BATCH + THEN + 1)]
    assert [len(each) for each in in_batches(tests)] == [FIRST_BATCH, THEN, 1]
    assert in_batches(tests[:3]) == [tests[:3]] and in_batches([]) == []
