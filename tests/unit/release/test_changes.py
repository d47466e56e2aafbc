"""Each ungated change of a minor has a name, and rules behave as in each minor."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from gateway.cel.rules import compile_schema
from gateway.customresources.objects import VersionRules
from gateway.http.request_info import RequestInfo
from gateway.kinds.attributes import Attributes
from gateway.kinds.columns import configuration, definitions
from gateway.kinds.columns.registry import columns_of
from gateway.kinds.gated_fields import FIELDS, SPECIFICATIONS, gated
from gateway.kinds.identity import GroupResource, GroupVersionKind
from gateway.kinds.strategies import strategy_for
from gateway.kinds.strategies.expressions import PolicyCompilers
from gateway.kinds.write_context import WriteContext
from gateway.release.changes import changes
from gateway.release.gates import GROUPS, Gates, known
from gateway.release.minors import GIT_VERSIONS, number
from gateway.settings.admission_plugins import PLUGINS
from gateway.subresources.binding import _assign
from gateway.validation.expressions import Use
from gateway.validation.schema_values import compile_check
from tests.unit.verbs.conftest import ADMIN

GATEWAY = Path(__file__).parents[3] / "gateway"
CONTEXT = WriteContext(Attributes(ADMIN, RequestInfo("create", "")), GroupResource("", "things"))


def first_arguments(*names: str) -> list[ast.Constant]:
    """The constants that functions whose names end so are called with first, in all modules of the gateway."""
    sources = (path.read_text(encoding="utf-8") for path in GATEWAY.rglob("*.py"))
    trees = (ast.parse(source) for source in sources if any(f"{name}(" in source for name in names))
    nodes = (node for tree in trees for node in ast.walk(tree))
    calls = [node for node in nodes if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(names)]
    firsts = [call.args[0] for call in calls if call.args]
    return [first for first in firsts if isinstance(first, ast.Constant)]


def asked() -> set[object]:
    """The names that modules of the gateway ask for."""
    names: set[object] = {first.value for first in first_arguments("enabled", "reworded")}
    names |= {change for change, _ in (*configuration.BEFORE.values(), *definitions.BEFORE.values())}
    names |= {each.since for resource in (*FIELDS, *SPECIFICATIONS) for each in gated(resource) if each.since}
    return names | {place.asks for place in PLUGINS.values() if place.asks}


def test_each_change_is_asked_for_says_what_it_is_and_has_no_gates_name() -> None:
    names = asked()
    for name, change in changes().items():
        assert name in names, f"no rule asks for {name}"
        assert change["since"] in GIT_VERSIONS and change["what"] and change["source"]
        assert name not in GROUPS and not any(name in known(minor) for minor in GIT_VERSIONS)


def test_a_change_is_there_from_its_minor_on() -> None:
    assert [Gates(minor).enabled("CELMessagesShowValues") for minor in ("1.34", "1.35", "1.36")] == [False, True, True]


def test_a_change_is_in_the_newest_minor_and_not_in_the_oldest() -> None:
    oldest, newest = min(GIT_VERSIONS, key=number), max(GIT_VERSIONS, key=number)
    alone = Gates(newest, compatible=newest)  # no earlier replica is beside it
    assert all(alone.enabled(name) and not Gates(oldest).enabled(name) for name in changes())


def test_the_table_of_service_accounts_counts_secrets_before_1_35() -> None:
    found = {}
    for minor in ("1.34", "1.35"):
        columns = columns_of("", "ServiceAccount", Gates(minor).enabled)
        account = {"metadata": {"name": "a"}, "secrets": [{"name": "s"}]}
        found[minor] = ([each.name for each in columns.definitions], columns.cells(account)[:-1])
    assert found == {"1.34": (["Name", "Secrets", "Age"], ["a", 1]), "1.35": (["Name", "Age"], ["a"])}


@pytest.mark.parametrize(("minor", "warned"), [("1.34", False), ("1.35", True)])
def test_a_quota_whose_limits_are_below_its_requests_is_warned_of_from_1_35_on(minor: str, warned: bool) -> None:
    strategy = strategy_for("", "resourcequotas", "", Gates(minor))
    quota = {"metadata": {"name": "q"}, "spec": {"hard": {"requests.cpu": "2", "limits.cpu": "1"}}}
    assert bool(strategy.warnings_on_create and strategy.warnings_on_create(quota, CONTEXT)) is warned


def test_new_expressions_may_use_functions_of_lists_from_1_35_on() -> None:
    text = "lists.range(2).distinct().size() == 2"
    policy: Any = {"metadata": {"name": "p"}, "spec": {"validations": [{"expression": text}]}}
    found = {}
    for minor in ("1.34", "1.35"):
        enabled = Gates(minor).enabled
        for old in (None, policy):
            found[minor, old is not None] = PolicyCompilers(old, enabled)(False, False).check(text, Use.CONDITION)
    fault = found.pop(("1.34", False))
    assert fault is not None and "undeclared reference to 'distinct'" in fault.message
    assert set(found.values()) == {None}


def resets(minor: str, group: str, resource: str, subresource: str) -> tuple[tuple[str, ...], ...]:
    return strategy_for(group, resource, subresource, Gates(minor)).reset_fields


@pytest.mark.parametrize(("minor", "owned"), [("1.35", (("spec",),)), ("1.36", (("metadata",), ("spec",)))])
def test_who_writes_the_status_of_a_custom_resource_owns_metadata_before_1_36(minor: str, owned: Any) -> None:
    kind = GroupVersionKind("e.com", "v1", "Thing")
    rules = VersionRules(kind, {}, {"status": {}}, terminating=False, enabled=Gates(minor).enabled)
    assert rules.strategy("status").reset_fields == owned


def test_who_writes_the_status_of_a_definition_owns_metadata_from_1_36_on() -> None:
    found = [resets(minor, "apiextensions.k8s.io", "customresourcedefinitions", "status") for minor in ("1.35", "1.36")]
    assert found == [(("metadata",), ("spec",)), (("spec",),)]


def test_a_write_of_a_block_sets_its_status_before_its_gate() -> None:
    before, after = (strategy_for("networking.k8s.io", "servicecidrs", "", Gates(each)) for each in ("1.35", "1.36"))
    for strategy, kept in ((before, {"conditions": []}), (after, {})):
        block: dict[str, Any] = {"metadata": {}, "status": {"conditions": []}}
        assert strategy.prepare_for_create is not None
        strategy.prepare_for_create(block, CONTEXT)
        assert block["status"] == kept
    assert (before.reset_fields, after.reset_fields) == ((), (("status",),))


def test_a_number_has_the_range_of_its_format_from_1_36_on() -> None:
    schema = {"type": "integer", "format": "int32"}
    assert [len(compile_check(schema, ranged=each)(2**40, ".n", None)) for each in (True, False)] == [1, 0]
    fraction = compile_check({"type": "integer"}, ranged=False)(1.5, ".n", None)
    assert [error.reason for error in fraction] == ["FieldValueTypeInvalid"]


@pytest.mark.parametrize(("minor", "warned"), [("1.35", []), ("1.36", ['unrecognized format "int32"'])])
def test_a_format_of_another_type_is_warned_of_from_1_36_on(minor: str, warned: list[str]) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "number", "format": "int32"}}}
    definition = {"spec": {"versions": [{"schema": {"openAPIV3Schema": schema}}]}}
    strategy = strategy_for("apiextensions.k8s.io", "customresourcedefinitions", "", Gates(minor))
    assert strategy.warnings_on_create is not None and list(strategy.warnings_on_create(definition, CONTEXT)) == warned


@pytest.mark.parametrize(
    ("shows", "message"), [(True, 'Invalid value: "b": no'), (False, 'Invalid value: "string": no')]
)
def test_a_rule_that_does_not_hold_shows_the_type_in_the_place_of_the_value(shows: bool, message: str) -> None:
    text = {"type": "string", "x-kubernetes-validations": [{"rule": "self == 'a'", "message": "no"}]}
    rules = compile_schema({"type": "object", "properties": {"x": text}}, shows_values=shows)
    assert rules is not None
    assert [error.body for error in rules.validate({"x": "b"})[0]] == [message]


@pytest.mark.parametrize(
    ("minor", "message"),
    [
        ("1.35", "Forbidden: updates to provisioner are forbidden."),
        ("1.36", 'Invalid value: "other": field is immutable'),
    ],
)
def test_another_provisioner_is_refused_in_the_words_of_the_minor(minor: str, message: str) -> None:
    old = {
        "metadata": {"name": "a", "resourceVersion": "1"},
        "provisioner": "one",
        "volumeBindingMode": "Immediate",
        "reclaimPolicy": "Delete",
    }
    strategy = strategy_for("storage.k8s.io", "storageclasses", "", Gates(minor))
    assert strategy.validate_update is not None
    assert [each.body for each in strategy.validate_update({**old, "provisioner": "other"}, old, CONTEXT)] == [message]


@pytest.mark.parametrize(
    ("minor", "messages"),
    [
        ("1.35", ["Invalid value: 0: must be greater than 0", "Invalid value: -1: must be greater than 0"]),
        (
            "1.36",
            ["Required value: must be set and greater than 0", "Invalid value: -1: must be greater than or equal to 1"],
        ),
    ],
)
def test_an_autoscaler_without_a_maximum_is_refused_in_the_words_of_the_minor(minor: str, messages: list[str]) -> None:
    strategy = strategy_for("autoscaling", "horizontalpodautoscalers", "", Gates(minor))
    assert strategy.validate is not None
    found = [strategy.validate({"metadata": {}, "spec": {"maxReplicas": most}}, CONTEXT)[0] for most in (0, -1)]
    assert [each.body for each in found] == messages


def test_a_binding_sets_labels_and_clears_the_nomination_where_gates_are_on() -> None:
    binding = {"metadata": {"labels": {"zone": "a"}, "annotations": {"by": "x"}}, "target": {"name": "n"}}
    found = {}
    for minor in ("1.34", "1.35"):
        pod: dict[str, Any] = {"metadata": {"name": "p"}, "status": {"nominatedNodeName": "m"}}
        _assign(pod, binding, "2026-01-01T00:00:00Z", Gates(minor).enabled)
        found[minor] = (
            pod["metadata"].get("labels"),
            pod["metadata"]["annotations"],
            "nominatedNodeName" in pod["status"],
        )
    assert found == {"1.34": (None, {"by": "x"}, True), "1.35": ({"zone": "a"}, {"by": "x"}, False)}


def test_each_gate_that_a_plugin_asks_for_is_one() -> None:
    found = {
        name: [Gates(minor).enabled(place.asks) for minor in GIT_VERSIONS]
        for name, place in PLUGINS.items()
        if place.asks
    }
    assert found == {
        "PodTopologyLabels": [False, True, True, True],
        "NodeDeclaredFeatureValidator": [False, False, True, True],
        "PodResizeValidator": [False, False, True, True],
    }
