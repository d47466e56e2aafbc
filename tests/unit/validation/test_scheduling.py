"""matchLabelKeys of a spread constraint, by the older rule."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.validation.scheduling import _spread_keys

LABELS = {"matchLabels": {"a": "1"}, "matchExpressions": [{"key": "b", "operator": "Exists"}]}


@pytest.mark.parametrize(
    ("keys", "selector", "wrong"),
    [
        ([], None, []),
        (["c"], LABELS, []),
        (["c", "a"], LABELS, ["k[1]"]),
        (["b"], LABELS, ["k[0]"]),
        (["c"], {}, []),
        (["c"], None, ["k"]),
        (["-"], LABELS, ["k[0]"]),
    ],
)
def test_a_key_is_a_label_that_the_selector_lacks(keys: list[str], selector: Any, wrong: list[str]) -> None:
    constraint = {"matchLabelKeys": keys, "labelSelector": selector}
    assert [each.field for each in _spread_keys(constraint, "k")] == wrong
