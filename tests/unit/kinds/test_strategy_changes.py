"""The places where objects are changed in place, once admission has made them the strategy's own.

tests/unchanging_phases.py holds the phases of writes against this in all tests: they leave other objects as they are.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import fields

import pytest

from gateway.kinds.identity import GroupResource
from gateway.kinds.strategies import MODULES, strategy_for
from gateway.kinds.strategy import Strategy
from tests.unchanging_phases import LEAVES, MAY_CHANGE, unchanging
from tests.unit.sources import modules, tree_of

ROOMS = ("gateway.kinds", "gateway.validation", "gateway.writing")

# module -> its functions that change an object that they are given. Those of defaults/ all do.
CHANGES = {
    "gateway.kinds.metadata": {
        "carry_over",
        "drop_duplicate_owners",
        "fill_system_fields",
        "keep_generation",
        "match_namespace",
        "wipe_system_fields",
    },
    "gateway.kinds.conversions.autoscalers": {"read_autoscaler"},
    "gateway.kinds.strategies.apiservices": {"_prepare_for_create", "_prepare_status"},
    "gateway.kinds.strategies.certificatesigningrequests": {
        "_prepare_approval",
        "_prepare_for_create",
        "_prepare_status",
    },
    "gateway.kinds.strategies.csinodes": {"_prepare_for_create"},
    "gateway.kinds.strategies.customresourcedefinitions": {"_begin_termination", "_prepare_for_create", "_store"},
    "gateway.kinds.strategies.deployments": {"_prepare_status"},
    "gateway.kinds.strategies.endpointslices": {"_prepare_for_create"},
    "gateway.kinds.strategies.jobs": {"_generate_selector", "_take", "_take_labels", "_take_node_affinity"},
    "gateway.kinds.strategies.limitranges": {"_prepare_for_create"},
    "gateway.kinds.strategies.namespaces": {"_begin_termination", "_canonicalize", "_prepare_for_create"},
    "gateway.kinds.strategies.persistentvolumeclaims": {
        "_class_moves",
        "_drop_foreign_sources",
        "_prepare_for_create",
        "normalize_sources",
    },
    "gateway.kinds.strategies.persistentvolumes": {"_prepare_for_create", "_prepare_status"},
    "gateway.kinds.strategies.pods": {
        "_prepare_ephemeral",
        "_prepare_for_create",
        "_prepare_resize",
        "_prepare_status",
        "_spec",
    },
    "gateway.kinds.strategies.podtemplates": {"_prepare_for_create"},
    "gateway.kinds.strategies.resourceslices": {"_prepare_for_create"},
    "gateway.kinds.strategies.secrets": {"_prepare_for_update"},
    "gateway.kinds.strategies.serviceaccounts": {"_clean"},
    "gateway.kinds.strategies.servicecidrs": {"_with_status"},
    "gateway.kinds.strategies.services": {"_drop_traffic_policy", "_drop_unchanged", "_prepare_for_update"},
    "gateway.kinds.strategies.status": {
        "bump_generation",
        "first_generation",
        "keep",
        "keep_spec_and_all_metadata",
        "prepare",
    },
    "gateway.kinds.strategies.templates": {"prepare"},
    "gateway.validation.custom_resource_definition": {"internal_spec"},
    "gateway.validation.pod_features": {"drop_disabled_fields", "drop_disabled_status_fields"},
    "gateway.validation.pod_resize": {"_containers", "_init_containers", "_pod_level"},
    "gateway.validation.pod_update": {"_gated", "_put"},
    "gateway.writing.body": {"complete"},
    "gateway.writing.conflicts": {"check_version"},
    "gateway.writing.deletion_plan": {"_mark", "_mark_finalizing", "_set_finalizers", "_shorten"},
    "gateway.writing.field_tracking": {"_keep_owners", "_show_as_stored"},
    "gateway.writing.patch_steps": {"read_internal"},
    "gateway.writing.unchanged_members": {"put_into"},
}

IN_PLACE = {"pop", "setdefault", "update", "clear", "append", "extend", "insert", "remove", "sort", "popitem"}
OBJECTS = {"JsonObject", "JsonObject | None", "Any", "list[JsonObject]"}


def owner(place: ast.expr) -> str:
    """The variable of which a place is a part: `obj` of obj["spec"].get("a"); "" for other expressions."""
    while not isinstance(place, ast.Name):
        if isinstance(place, ast.Call) and isinstance(place.func, ast.Attribute):
            place = place.func
        if not isinstance(place, ast.Subscript | ast.Attribute):
            return ""
        place = place.value
    return place.id


def changed(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    """The variables whose values a function changes in place."""
    for node in ast.walk(function):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
            yield owner(node.value)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in IN_PLACE:
            yield owner(node.func.value)


def changing(tree: ast.Module) -> set[str]:
    """The functions of a module that change an object that they are given."""
    return {
        function.name
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for given in [*function.args.args, *function.args.kwonlyargs]
        if given.annotation is not None and ast.unparse(given.annotation) in OBJECTS
        if given.arg in changed(function)
    }


def test_objects_are_changed_in_place_by_the_functions_of_the_table_alone() -> None:
    found = {name: changing(tree_of(name)) for name in modules() if name.startswith(ROOMS)}
    assert {name: functions for name, functions in found.items() if functions} == CHANGES


def test_a_change_in_place_is_found() -> None:
    source = "def f(a: JsonObject): a['x'] = 1\ndef g(a: JsonObject): a.get('x').pop(1)\ndef h(a: JsonObject): {**a}"
    assert changing(ast.parse(source)) == {"f", "g"}


def test_each_member_of_a_strategy_that_gets_an_object_may_change_it_or_leaves_it() -> None:
    with_objects = {
        each.name for each in fields(Strategy) if "JsonObject" in str(each.type) or "Termination" in str(each.type)
    }
    assert with_objects == {*MAY_CHANGE, *LEAVES}


@pytest.mark.parametrize("name", [*LEAVES, "prepare_for_update"])
def test_what_changes_an_object_that_is_not_its_own_fails(name: str) -> None:
    def spoils(*given: dict[str, int]) -> None:
        given[-1]["changed"] = 1

    first = int(name == "prepare_for_update")
    with pytest.raises(AssertionError, match="in place"):
        unchanging(spoils, name, first)({}, {})


def test_the_strategies_of_all_kinds_are_compared() -> None:
    for resource in MODULES:
        assert hasattr(strategy_for(*resource).prepare_for_update, "is_compared") or not _prepares(resource)


def _prepares(resource: GroupResource) -> bool:
    default = Strategy.__dataclass_fields__["prepare_for_update"].default
    return strategy_for(*resource).prepare_for_update is not default
