"""`+` of lists with list types: a union of sets, a merge of keyed lists (CRDs, "x-kubernetes-list-type")."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.cel.rules import compile_schema

ITEM = {"type": "object", "properties": {"k": {"type": "string"}, "v": {"type": "integer"}}}
PROPERTIES = {
    "s": {"type": "array", "maxItems": 9, "x-kubernetes-list-type": "set", "items": {"type": "string"}},
    "m": {"type": "array", "maxItems": 9, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
    | {"items": ITEM},
    "o": {"type": "array", "maxItems": 9, "items": ITEM},
}


def holds(rule: str, **values: Any) -> bool:
    schema = {"type": "object", "properties": PROPERTIES, "x-kubernetes-validations": [{"rule": rule}]}
    rules = compile_schema(schema, root=False)
    assert rules is not None
    return not rules.validate(values)[0]


@pytest.mark.parametrize(
    "rule",
    [
        "size(self.s + ['c', 'c']) == 3",
        "size(self.s + ['b', 'a', 'a']) == 2",
        "self.s + ['d', 'c', 'd'] == ['a', 'b', 'c', 'd']",
        "size(self.s + self.s) == 2",
        "(self.s + ['d', 'c'])[2] == 'd'",
        "size(['c', 'c'] + self.s) == 4",
    ],
)
def test_sets_have_each_item_once(rule: str) -> None:
    assert holds(rule, s=["a", "b"])


@pytest.mark.parametrize(
    ("mine", "others", "joined"),
    [
        ([("a", 1), ("b", 2)], [("c", 3), ("a", 4)], [("a", 4), ("b", 2), ("c", 3)]),
        ([("a", 1)], [("b", 2), ("b", 3)], [("a", 1), ("b", 2), ("b", 3)]),
        ([("a", 1)], [("a", 2), ("a", 3)], [("a", 3)]),
        ([(None, 1), (None, 2)], [], [(None, 1), (None, 2)]),
        ([(None, 1), (None, 2)], [("a", 3)], [(None, 1), (None, 2), ("a", 3)]),
        ([("a", 1)], [(None, 2), (None, 3)], [("a", 1), (None, 2), (None, 3)]),
    ],
)
def test_keyed_lists_are_merged_by_key_and_not_in_themselves(mine: Any, others: Any, joined: Any) -> None:
    def items(pairs: list[tuple[str | None, int]]) -> list[dict[str, Any]]:
        return [{"v": value} if key is None else {"k": key, "v": value} for key, value in pairs]

    values = ",".join(str(value) for _, value in joined)
    assert holds(f"(self.m + dyn(self.o)).map(each, each.v) == [{values}]", m=items(mine), o=items(others))
