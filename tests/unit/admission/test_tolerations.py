"""The tolerations of a pod and of its RuntimeClass are merged: one that another covers is dropped."""

from __future__ import annotations

from typing import Any, cast

import pytest

from gateway.admission.plugins.runtime_class import _scheduling
from gateway.admission.tolerations import MOST_PAIRS, merged

ALL_OF_K = {"key": "k", "operator": "Exists"}
NO_EXECUTE = {**ALL_OF_K, "effect": "NoExecute"}
OTHER = {"key": "other", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}


@pytest.mark.parametrize(
    ("own", "added", "expected"),
    [
        ([NO_EXECUTE, OTHER], [ALL_OF_K], [OTHER, ALL_OF_K]),
        ([ALL_OF_K, OTHER], [NO_EXECUTE], [ALL_OF_K, OTHER]),
        ([NO_EXECUTE, ALL_OF_K], [], [ALL_OF_K]),
        ([ALL_OF_K], [ALL_OF_K], [ALL_OF_K]),
        ([OTHER], [{"operator": "Exists"}], [{"operator": "Exists"}]),
    ],
)
def test_merged(own: list[Any], added: list[Any], expected: list[Any]) -> None:
    assert merged(own, added) == expected


def test_very_many_are_not_compared() -> None:
    many = [ALL_OF_K] * (int(MOST_PAIRS**0.5) + 1)
    assert len(merged(many, [])) == len(many)


def test_a_pod_keeps_none_that_its_runtime_class_covers() -> None:
    pod = {"spec": {"tolerations": [NO_EXECUTE, OTHER]}}
    changed = _scheduling(pod, {"tolerations": [ALL_OF_K]}, cast(Any, None))
    assert changed == {"tolerations": [OTHER, ALL_OF_K]}
