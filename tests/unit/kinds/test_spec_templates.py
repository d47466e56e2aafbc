"""The cache of recurring specifications is bounded, whatever clients send."""

from __future__ import annotations

from typing import Any

from gateway.jsontypes import loads
from gateway.kinds import spec_templates
from gateway.kinds.spec_templates import BUDGET, FACTS, LONGEST, Specification, SpecTemplate, SpecTemplates
from gateway.schema.body import parse_body, parse_to_decode
from gateway.schema.catalog import type_for


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
        known_before = specification.has_passed("rule")
        if passes:
            specification.passes("rule")
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


def test_no_more_facts_are_kept_than_the_bound() -> None:
    of_pod = template()
    for number in range(3 * FACTS):
        Specification(of_pod).passes(number)
        assert Specification(of_pod).has_passed(number)
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
    longer.passes("rule")
    assert not longer.has_passed("rule")
