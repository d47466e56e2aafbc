"""What is remembered of specifications that come again is bounded, whatever clients send."""

from __future__ import annotations

from typing import Any

from gateway.jsontypes import loads
from gateway.kinds import recurring
from gateway.kinds.recurring import BUDGET, LONGEST, Recurrence, Templates
from gateway.schema.body import parse_body
from gateway.schema.catalog import type_for


def sent(**specification: Any) -> dict[str, Any]:
    return {"spec": specification}


def templates() -> Templates:
    return Templates(lambda obj: None)


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


def test_long_specifications_are_not_remembered() -> None:
    known = templates()
    for _ in range(3):
        assert known.of(sent(a="x" * LONGEST)) is None


def test_no_more_is_kept_than_the_budget() -> None:
    known, size = templates(), LONGEST // 2
    for number in range(3 * BUDGET // (size * recurring._SHARE)):
        body = sent(a=f"{number:09d}" * (size // 9))
        assert known.of(body) is None
        assert known.of(body) is not None
        assert sum(len(content) for content in known._templates) * recurring._SHARE <= BUDGET
    for number in range(3 * recurring.SEEN):
        known.of(sent(a=number))
    assert len(known._seen) <= recurring.SEEN


def test_only_what_was_found_valid_is_accepted_and_only_as_it_was() -> None:
    known, pod = templates(), type_for("", "v1", "Pod")
    known.of(sent(nodeName="a"))
    template = known.of(sent(nodeName="a"))
    assert template is not None

    def written(specification: dict[str, Any], *, valid: bool) -> tuple[bool, Any]:
        recurrence = Recurrence(template)
        recurrence.prepared(specification)
        known_before = recurrence.accepted is not None
        recurrence.valid, recurrence.warnings = valid, ()
        obj = {"spec": specification}
        return known_before, loads(recurring.dumps(recurrence.spliced(obj, pod)))

    assert written({"nodeName": "a"}, valid=False) == (False, {"spec": {"nodeName": "a"}})
    assert written({"nodeName": "a"}, valid=True) == (False, {"spec": {"nodeName": "a"}})
    assert written({"nodeName": "a"}, valid=True) == (True, {"spec": {"nodeName": "a"}})
    assert written({"nodeName": "b"}, valid=True) == (False, {"spec": {"nodeName": "b"}})
