"""Names of CRDs, and the conditions about them."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.customresources.conditions import with_status
from gateway.customresources.definition import condition, is_true
from gateway.customresources.names import claim

NAMES = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}


def test_of_two_new_definitions_the_first_has_its_turn_first() -> None:
    first, second = definition(), definition()
    first["metadata"]["resourceVersion"], second["metadata"]["resourceVersion"] = "9", "10"
    assert claim(first, [second]).reason == ""
    assert claim(second, [first]).reason == "ListKindConflict"


def test_a_name_that_becomes_free_goes_to_the_oldest_of_those_that_wait_for_it() -> None:
    refused = {"conditions": [{"type": "NamesAccepted", "status": "False"}]}
    old, young = definition(refused, shortNames=["free"]), definition(refused, shortNames=["free"])
    old["metadata"] |= {"name": "z", "creationTimestamp": "2024-01-01T00:00:00Z", "resourceVersion": "20"}
    young["metadata"] |= {"name": "a", "creationTimestamp": "2024-01-02T00:00:00Z", "resourceVersion": "10"}
    young["spec"]["names"] |= {"plural": "a", "singular": "a", "kind": "A", "listKind": "AList"}
    assert claim(young, [old]).reason == "ShortNamesConflict"
    assert claim(old, [young]).reason == ""
    assert claim(young, [old, taking(kind="Widget")]).reason == "", "the older one waits for another name too"
    old["metadata"]["deletionTimestamp"] = "2024-01-03T00:00:00Z"
    assert claim(young, [old]).reason == "", "the older one will not be named any more"


def definition(status: dict[str, Any] | None = None, **names: Any) -> dict[str, Any]:
    spec = {"group": "e.com", "names": {**NAMES, **names}, "versions": []}
    return {"metadata": {"name": "widgets.e.com"}, "spec": spec, "status": status or {}}


def taking(**names: Any) -> dict[str, Any]:
    return {"metadata": {"name": "other"}, "spec": {"names": names}, "status": {"acceptedNames": names}}


@pytest.mark.parametrize(
    ("other", "reason", "lost"),
    [
        ({"plural": "widgets"}, "PluralConflict", "plural"),
        ({"singular": "widgets"}, "PluralConflict", "plural"),
        ({"shortNames": ["widget"]}, "SingularConflict", "singular"),
        ({"kind": "Widget"}, "KindConflict", "kind"),
        ({"listKind": "Widget"}, "KindConflict", "kind"),
        ({"kind": "WidgetList"}, "ListKindConflict", "listKind"),
    ],
)
def test_a_name_that_another_definition_has_is_not_given(other: dict[str, Any], reason: str, lost: str) -> None:
    found = claim(definition(), [taking(**other)])
    assert found.reason == reason
    assert found.message == f'"{NAMES[lost]}" is already in use'
    assert found.accepted == {key: name for key, name in NAMES.items() if key != lost}


def test_short_names_are_given_together_or_not_at_all() -> None:
    found = claim(definition(shortNames=["a", "b", "c"]), [taking(plural="b", shortNames=["c"])])
    assert found.reason == "ShortNamesConflict"
    assert found.message == '["b" is already in use, "c" is already in use]'
    assert "shortNames" not in found.accepted


def test_a_definition_keeps_the_names_that_it_has() -> None:
    own = definition({"acceptedNames": {**NAMES, "shortNames": ["w"]}}, shortNames=["w"])
    assert claim(own, [taking(**NAMES, shortNames=["w"])]).reason == ""


def test_conditions_move_only_with_their_status() -> None:
    first = with_status(definition(), [], "2024-01-01T00:00:00Z")
    assert is_true(first, "NamesAccepted")
    assert is_true(first, "Established")
    assert with_status(first, [], "2024-01-02T00:00:00Z") is first
    first["spec"]["names"]["shortNames"] = ["taken"]
    refused = with_status(first, [taking(plural="taken")], "2024-01-03T00:00:00Z")
    assert is_true(refused, "Established")
    accepted = condition(refused, "NamesAccepted")
    assert accepted is not None
    assert (accepted["status"], accepted["lastTransitionTime"]) == ("False", "2024-01-03T00:00:00Z")


def test_a_protected_group_tells_whether_it_is_approved() -> None:
    protected = definition()
    protected["spec"]["group"] = "x.k8s.io"
    for annotation, status, reason in (
        ("https://e.com/1", "True", "ApprovedAnnotation"),
        ("unapproved, a test", "False", "UnapprovedAnnotation"),
        ("yes", "False", "InvalidAnnotation"),
    ):
        protected["metadata"]["annotations"] = {"api-approved.kubernetes.io": annotation}
        found = condition(with_status(protected, [], ""), "KubernetesAPIApprovalPolicyConformant")
        assert found is not None
        assert (found["status"], found["reason"]) == (status, reason)


def test_names_of_a_terminating_definition_are_followed_once_established() -> None:
    going = with_status(definition(), [], "2024-01-01T00:00:00Z")
    going["metadata"]["deletionTimestamp"] = "2024-01-02T00:00:00Z"
    going["spec"]["names"] = {**NAMES, "shortNames": ["w"], "categories": ["all"]}
    named = with_status(going, [], "2024-01-02T00:00:00Z")
    assert named["status"]["acceptedNames"] == going["spec"]["names"]
    refused = with_status(going, [taking(plural="w")], "2024-01-02T00:00:00Z")
    assert condition(refused, "NamesAccepted")["reason"] == "ShortNamesConflict"  # type: ignore[index]
    new = definition()
    new["metadata"]["deletionTimestamp"] = "2024-01-02T00:00:00Z"
    assert with_status(new, [], "2024-01-02T00:00:00Z") is new
