"""The cache of recurring specifications is bounded, whatever clients send."""

from __future__ import annotations

import re
from collections.abc import Hashable
from pathlib import Path
from typing import Any

from gateway.jsontypes import loads
from gateway.kinds import spec_templates
from gateway.kinds.spec_templates import BUDGET, FACTS, LONGEST, Specification, SpecTemplate, SpecTemplates
from gateway.schema.body import parse_body, parse_to_decode
from gateway.schema.catalog import type_for

ROOT = Path(__file__).parents[3]

KNOW = {
    "gateway/kinds/spec_templates.py",  # keeps the results
    "gateway/kinds/strategy.py",  # says of which kinds specs recur
    "gateway/kinds/strategies/pods.py",  # the one kind: it sets the defaults of the rest apart
    "gateway/kinds/write_context.py",  # carries the spec through the phases of a write
    "gateway/writing/body.py",  # looks for the spec in a body
    "gateway/writing/write.py",  # takes it from the body into the context
}
_KNOWING = re.compile(r"\b(spec_templates|SpecTemplates?|ANY_SPECIFICATION|default_others|recurs)\b|\.specification\b")


def test_few_modules_know_that_specs_recur() -> None:
    """All others call `of_spec` with what depends on the spec alone."""
    sources = {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in (ROOT / "gateway").rglob("*.py")}
    assert {name for name, text in sources.items() if _KNOWING.search(text)} == KNOW


def sent(**specification: Any) -> dict[str, Any]:
    return {"spec": specification}


def templates() -> SpecTemplates:
    return SpecTemplates(lambda obj: None)


def template(known: SpecTemplates | None = None, **specification: Any) -> SpecTemplate:
    """That of a specification which has come before."""
    known = known or templates()
    found = known.of(sent(**specification)) or known.of(sent(**specification))
    assert found is not None
    return found


def has_passed(specification: Specification, rule: Hashable) -> bool:
    """Whether there is a result of a rule."""
    return specification.once(rule, lambda: None) is not None


def test_a_specification_is_remembered_when_it_comes_for_the_second_time() -> None:
    known = templates()
    assert known.of(sent(a=1)) is None
    again = known.of(sent(a=1))
    assert again is not None
    assert known.of(sent(a=1)) is again
    assert known.of(sent(a=True)) is None
    assert known.of(sent(a=1.0)) is None


def test_what_is_no_specification_is_none() -> None:
    known = templates()
    for body in (None, [], "spec", {}, {"spec": None}, {"spec": []}, sent(a=float("nan"), b={1: 2})):
        assert known.of(body) is None
        assert known.of(body) is None


def test_a_body_with_a_key_twice_is_not_the_one_without() -> None:
    known = templates()
    assert [known.of(sent(a=2)) is None for _ in range(2)] == [True, False]
    twice, _ = parse_body(b'{"spec":{"a":1,"a":2}}')
    assert known.of(twice) is None
    large, _ = parse_to_decode(b'{"spec":{"a":2},"metadata":1e999}')
    assert known.of(large) is None  # what is left of it without its specification no longer knows of the number


def test_long_specifications_are_not_remembered() -> None:
    known = templates()
    for _ in range(3):
        assert known.of(sent(a="x" * LONGEST)) is None


def test_no_more_is_kept_than_the_budget() -> None:
    known, size = templates(), LONGEST // 2
    for number in range(3 * BUDGET // (size * spec_templates._SHARE)):
        body = sent(a=f"{number:09d}" * (size // 9))
        assert known.of(body) is None
        assert known.of(body) is not None
        assert sum(len(content) for content in known._templates) * spec_templates._SHARE <= BUDGET
    for number in range(3 * spec_templates.SEEN):
        known.of(sent(a=number))
    assert len(known._seen) <= spec_templates.SEEN


def test_what_is_known_is_known_of_exactly_the_specification_that_is_stored() -> None:
    of_pod, pod = template(), type_for("", "v1", "Pod")

    def written(spec: dict[str, Any], *, passes: bool) -> tuple[bool, Any]:
        specification = Specification(of_pod).prepared({"spec": spec})
        known_before = has_passed(specification, "rule")
        if passes:
            specification.once("rule", lambda: True)
        return known_before, loads(spec_templates.dumps(specification.spliced({"spec": spec}, pod)))

    assert written({"nodeName": "a"}, passes=False) == (False, {"spec": {"nodeName": "a"}})
    assert written({"nodeName": "a"}, passes=True) == (False, {"spec": {"nodeName": "a"}})
    assert written({"nodeName": "a"}, passes=True) == (True, {"spec": {"nodeName": "a"}})
    assert written({"nodeName": "b"}, passes=True) == (False, {"spec": {"nodeName": "b"}})


def test_what_follows_from_a_specification_is_made_once_where_it_has_come_before() -> None:
    of_pod, made = template(), 0

    def make() -> int:
        nonlocal made
        made += 1
        return made

    assert [Specification().once("fact", make) for _ in range(2)] == [1, 2]
    assert [Specification(of_pod).once("fact", make) for _ in range(2)] == [3, 3]
    prepared = Specification(of_pod).prepared(sent(a=1))
    assert [prepared.once("fact", make), Specification(of_pod).once("fact", make)] == [4, 3]


def test_a_result_none_is_not_kept() -> None:
    of_pod = template()
    results = [Specification(of_pod).once("fact", lambda found=found: found) for found in (None, 1, 2)]
    assert results == [None, 1, 1]


def test_an_object_without_known_members_is_encoded_as_it_is() -> None:
    obj = sent(a=1)
    assert Specification().spliced(obj, type_for("", "v1", "Pod")) is obj


def test_no_more_facts_are_kept_than_the_bound() -> None:
    of_pod = template()
    for number in range(3 * FACTS):
        Specification(of_pod).once(number, lambda: True)
        assert has_passed(Specification(of_pod), number)
    assert len(of_pod.of_sent) <= FACTS


def test_what_admission_makes_of_specifications_counts_too() -> None:
    known, large = templates(), "x" * (LONGEST // 4)
    for number in range(3 * BUDGET // len(large)):
        specification = Specification(template(known, a=number))
        specification.once("completed", lambda: large.encode())
        specification.prepared(sent(a=number, b=large)).once("in order", lambda: large)
        kept = [each for found in known._templates.values() for each in (*found.of_sent.values(), found.of_stored[0])]
        assert sum(map(len, kept)) <= BUDGET
    longer = Specification(template(known, a="b")).prepared(sent(a="b", c="x" * LONGEST))
    longer.once("rule", lambda: True)
    assert not has_passed(longer, "rule")
