"""Invariants of server-side apply, for random objects and managers."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.apply import server_side, server_side_apply, update_managed
from gateway.apply.field_set import has, intersection, paths
from gateway.apply.walks import applied_paths
from gateway.jsontypes import JsonObject, dumps
from gateway.schema.catalog import type_for
from gateway.schema.decode import DecodeReport, decode

POD = type_for("", "v1", "Pod")

WORDS = st.sampled_from(["a", "b", "c"])


def keyed(key: str, **members: st.SearchStrategy[Any]) -> st.SearchStrategy[list[dict[str, Any]]]:
    item = st.fixed_dictionaries({key: WORDS}, optional=members)
    return st.lists(item, min_size=1, max_size=3, unique_by=lambda value: value[key])


CONFIGURATIONS = st.fixed_dictionaries(
    {
        "apiVersion": st.just("v1"),
        "kind": st.just("Pod"),
        "metadata": st.fixed_dictionaries(
            {"name": st.just("p")},
            optional={
                "labels": st.dictionaries(WORDS, WORDS, min_size=1, max_size=3),
                "finalizers": st.lists(WORDS, min_size=1, max_size=3, unique=True),
            },
        ),
    },
    optional={
        "spec": st.fixed_dictionaries(
            {},
            optional={
                "nodeName": WORDS,
                "nodeSelector": st.dictionaries(WORDS, WORDS, min_size=1, max_size=2),
                "containers": keyed(
                    "name", image=WORDS, args=st.lists(WORDS, min_size=1), env=keyed("name", value=WORDS)
                ),
            },
        ).filter(bool)
    },
)
MANAGERS = st.sampled_from(["one", "two"])


def apply(live: JsonObject | None, config: JsonObject, manager: str) -> JsonObject:
    result = server_side_apply(
        live, config, POD, manager=manager, force=True, api_version="v1", now="2026-01-02T03:04:05Z"
    )
    if result is live:
        return result
    result["metadata"].setdefault("uid", "u")
    return decode(POD, result, DecodeReport())


def owned(value: JsonObject, manager: str) -> Any:
    found = [entry for entry in value["metadata"].get("managedFields", []) if entry["manager"] == manager]
    return found[0]["fieldsV1"] if found else {}


@settings(deadline=None)
@given(st.lists(st.tuples(MANAGERS, CONFIGURATIONS), min_size=1, max_size=4))
def test_apply_is_idempotent(history: list[tuple[str, JsonObject]]) -> None:
    live: JsonObject | None = None
    for manager, config in history:
        live = apply(live, config, manager)
        assert apply(live, config, manager) is live


@settings(deadline=None)
@given(st.lists(st.tuples(MANAGERS, CONFIGURATIONS), min_size=1, max_size=4))
def test_what_is_applied_is_there_and_owned(history: list[tuple[str, JsonObject]]) -> None:
    live: JsonObject | None = None
    walk = applied_paths(POD)
    assert walk is not None
    for manager, config in history:
        live = apply(live, config, manager)
        present = walk(live) or {}
        for path in paths(walk({"spec": config["spec"]} if config.get("spec") else {}) or {}):
            assert has(present, path)
            assert has(owned(live, manager), path)


@settings(deadline=None)
@given(CONFIGURATIONS, CONFIGURATIONS, CONFIGURATIONS)
def test_what_one_manager_drops_never_takes_away_what_the_other_applied(a: Any, b: Any, c: Any) -> None:
    before = apply(apply(None, a, "one"), b, "two")
    after = apply(before, c, "one")
    walk = applied_paths(POD)
    assert walk is not None
    for path in paths(owned(before, "two")):
        assert has(walk(after) or {}, path)
    for path in paths(intersection(owned(after, "two"), owned(before, "two"))):
        assert has(owned(before, "two"), path)


@settings(deadline=None)
@given(CONFIGURATIONS, CONFIGURATIONS)
def test_fields_of_an_update_leak_to_nobody(a: Any, b: Any) -> None:
    live = apply(None, a, "one")
    new: JsonObject = copy.deepcopy(b) | {"metadata": {**b["metadata"], "uid": "u"}}
    update_managed(new, live, POD, manager="two", api_version="v1", now="t")
    walk = applied_paths(POD)
    assert walk is not None
    kept, gained = owned(new, "one"), owned(new, "two")
    assert not intersection(kept, gained)
    before = set(paths(owned(live, "one")))
    assert set(paths(kept)) <= before
    present = set(paths(walk(new) or {}))
    assert {path for path in paths(kept) if path in before} <= present | before


@settings(deadline=None)
@given(st.lists(st.tuples(MANAGERS, CONFIGURATIONS), min_size=1, max_size=5))
def test_an_apply_of_the_same_fields_as_before_is_that_of_the_long_way(history: list[tuple[str, JsonObject]]) -> None:
    live: JsonObject | None = None
    for manager, config in history:
        after = apply(live, config, manager)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(server_side, "_is_same", lambda *_: False)
            long_way = apply(live, config, manager)
        assert dumps(long_way) == dumps(after)
        live = after
