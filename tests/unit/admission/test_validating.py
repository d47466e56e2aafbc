"""What validating policies tell the audit log of one write."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any, cast

import pytest

from gateway.admission.policies.configuration import PolicyBinding
from gateway.admission.policies.validating import _Review
from gateway.admission.policies.validation import Denial, Judgement
from gateway.release.release import release_of

KEY = "validation.policy.admission.k8s.io/validation_failure"


def told(minor: str, failures: int) -> dict[str, str]:
    """The annotations of a write that breaks so many expressions of one policy."""
    annotations: dict[str, str] = {}
    admission = SimpleNamespace(annotate=annotations.setdefault)
    parts = SimpleNamespace(release=release_of(minor=minor))
    review = _Review(cast(Any, parts), cast(Any, admission), cast(Any, None))
    denials = [Denial(index, f"no {index}", "Invalid", 0.0) for index in range(failures)]
    binding = PolicyBinding("b", "p", None, ("Audit",), cast(Any, None))
    review._act(cast(Any, SimpleNamespace(name="p")), binding, Judgement(denials=denials))
    review.tell_failures()
    return annotations


@pytest.mark.parametrize(
    ("minor", "failures", "indexes"),
    [
        ("1.36", 0, None),
        ("1.36", 3, [0]),
        ("1.37", 0, None),
        ("1.37", 1, [0]),
        ("1.37", 3, [0, 1, 2]),
        ("1.37", 60, list(range(50))),
    ],
)
def test_all_failures_are_in_one_annotation_from_1_37_on(minor: str, failures: int, indexes: list[int] | None) -> None:
    found = told(minor, failures)
    assert found.keys() == ({KEY} if indexes else set())
    if indexes:
        values = json.loads(found[KEY])
        assert [value["expressionIndex"] for value in values] == indexes
        assert values[0] == {
            "message": "no 0",
            "policy": "p",
            "binding": "b",
            "expressionIndex": 0,
            "validationActions": ["Audit"],
        }
