"""Which writes a quota is asked about: creates, updates that may use more, and status updates of claims that grow."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from gateway.kinds.attributes import Operation
from gateway.quotas.evaluator import EvaluatedWrite
from gateway.quotas.evaluators import volume_claims
from gateway.quotas.evaluators.counts import is_create, is_create_or_update

CREATE, UPDATE, DELETE = Operation.CREATE, Operation.UPDATE, Operation.DELETE


def write(operation: Operation, subresource: str = "", new: Any = None, old: Any = None) -> EvaluatedWrite:
    return EvaluatedWrite(operation, subresource, new or {}, old)


@pytest.mark.parametrize(
    ("operation", "subresource", "creates", "creates_or_updates"),
    [
        (CREATE, "", True, True),
        (UPDATE, "", False, True),
        (DELETE, "", False, False),
        (CREATE, "eviction", False, False),
        (UPDATE, "status", False, False),
    ],
)
def test_subresources_are_not_counted(
    operation: Operation, subresource: str, creates: bool, creates_or_updates: bool
) -> None:
    asked = write(operation, subresource)
    assert (is_create(asked), is_create_or_update(asked)) == (creates, creates_or_updates)


def claim(storage: str = "1Gi", **more: Any) -> dict[str, Any]:
    return {"spec": {}, "status": {"allocatedResources": {"storage": storage}} | more}


@pytest.mark.parametrize(
    ("new", "handled"),
    [
        (claim(), False),
        (claim("1024Mi"), False),
        (claim("2Gi"), True),
        (claim(currentVolumeAttributesClassName="fast"), True),
        (claim(modifyVolumeStatus={"targetVolumeAttributesClassName": "fast"}), True),
        (claim(phase="Bound"), False),
    ],
)
def test_the_status_of_a_claim_counts_if_it_was_given_more(new: Any, handled: bool) -> None:
    handles = volume_claims.EVALUATOR.handles
    assert handles(write(UPDATE, "status", new, claim())) is handled
    assert handles(write(CREATE, "", new)) and handles(write(UPDATE, "", new, claim()))
    assert not handles(write(UPDATE, "other", new, claim()))


@pytest.mark.parametrize(("follows", "times"), [(False, 1), (True, 2)])
def test_usage_is_computed_once_unless_it_follows_other_objects(follows: bool, times: int) -> None:
    computed = list[Any]()

    def usage(obj: Any, classes: Any) -> Any:
        computed.append(obj)
        return {"pods": len(computed)}

    evaluator: Any = SimpleNamespace(usage=usage, follows_others=follows, by_specification=False)
    asked, classes = write(CREATE), SimpleNamespace()
    for _ in range(2):
        asked.usage(evaluator, classes)  # type: ignore[arg-type]  # nobody looks classes up
    assert len(computed) == times
