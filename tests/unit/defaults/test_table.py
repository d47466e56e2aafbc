"""A table of defaults sets what is missing, where its parts exist, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.defaults.registry import MODULES, defaulter_for
from gateway.defaults.table import compile_table

TABLE = {
    "plain": "x",
    "pointer?": 7,
    "made+.flag?": False,
    "part.name": "n",
    "items[].port": 80,
    "by{}.size?": "1",
    "list": ["a"],
}


def applied(obj: dict[str, Any]) -> dict[str, Any]:
    compile_table(TABLE)(obj)
    return obj


def test_absent_fields_are_set_and_absent_parts_are_not_made() -> None:
    assert applied({}) == {"plain": "x", "pointer": 7, "made": {"flag": False}, "list": ["a"]}


def test_a_plain_value_counts_as_missing_when_zero_and_a_pointer_only_when_absent() -> None:
    obj = applied({"plain": "", "pointer": 0, "made": {"flag": True}, "list": []})
    assert obj == {"plain": "x", "pointer": 0, "made": {"flag": True}, "list": ["a"]}


def test_parts_elements_and_map_values_are_visited_where_they_exist() -> None:
    obj = applied({"part": {}, "items": [{}, {"port": 1}], "by": {"a": {}, "b": {"size": "2"}}})
    assert obj["part"] == {"name": "n"}
    assert obj["items"] == [{"port": 80}, {"port": 1}]
    assert obj["by"] == {"a": {"size": "1"}, "b": {"size": "2"}}


def test_objects_do_not_share_a_default_that_can_change() -> None:
    one, other = applied({}), applied({})
    one["list"].append("b")
    assert other["list"] == ["a"]


def test_a_rule_sees_the_defaults_of_its_own_part_but_not_yet_those_below() -> None:
    seen: list[dict[str, Any]] = []
    compile_table({"part": lambda part: seen.append(dict(part)), "part.kind": "k", "part.below+.x": 1})({"part": {}})
    assert seen == [{"kind": "k"}]


def test_a_part_of_many_alternatives_is_visited_like_any_other() -> None:
    table = {f"source{number}.mode?": number for number in range(12)}
    obj: dict[str, Any] = {"name": "v", "source7": {}}
    compile_table(table)(obj)
    assert obj == {"name": "v", "source7": {"mode": 7}}


@pytest.mark.parametrize(
    ("api_version", "kind"),
    [(version, kind) for version, kinds in MODULES.items() for kind in kinds],
)
def test_every_defaulter_takes_the_smallest_object_and_is_idempotent(api_version: str, kind: str) -> None:
    apply = defaulter_for(api_version, kind)
    assert apply is not None
    obj: dict[str, Any] = {"metadata": {"name": "a"}}
    apply(obj)
    once = repr(obj)
    apply(obj)
    assert repr(obj) == once


def test_kinds_without_defaults_have_no_defaulter() -> None:
    assert defaulter_for("v1", "ConfigMap") is None
    assert defaulter_for("example.com/v1", "Widget") is None


def test_a_null_pointer_is_absent() -> None:
    assert applied({"pointer": None, "made": None, "part": None, "items": None})["pointer"] == 7
