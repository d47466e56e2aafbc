"""From 1.37 on, errors of declarative validation come after those of the kind, and none comes twice."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.http import status
from gateway.kinds.declared_rules import RULES
from gateway.kinds.strategies import MODULES, strategy_for
from gateway.release.gates import Gates
from gateway.validation.declared_checks import required
from gateway.validation.declared_rules import Declaration, DeclaredRules, errors_beside
from gateway.validation.field import FieldError, invalid
from gateway.validation.field import required as missing


def beside(group: str, resource: str, found: list[FieldError], new: Any, old: Any = None) -> list[str]:
    return list(map(str, errors_beside(rules_of(group, resource), found, new, old)))


def rules_of(group: str, resource: str) -> Declaration | tuple[()]:
    return strategy_for(group, resource, "", Gates("1.37")).declared


@pytest.mark.parametrize("resource", RULES)
def test_declared_rules_are_of_resources_with_rules_and_are_enforced_from_1_37_on(resource: Any) -> None:
    assert resource in MODULES
    before, after = (strategy_for(resource.group, resource.resource, "", Gates(each)) for each in ("1.36", "1.37"))
    assert (before.declared, before.tells_once) == ((), False)
    assert after.declared and set(after.declared) <= set(RULES[resource])
    assert after.tells_once


def test_a_declared_error_takes_the_place_of_one_of_the_same_field_and_stands_last() -> None:
    found = [missing("rules[0].verbs", "verbs must contain at least one value"), missing("rules[0].resources", "some")]
    role = {"rules": [{"verbs": []}, {"verbs": ["get"]}, {}]}
    assert beside("rbac.authorization.k8s.io", "roles", found, role) == [
        "rules[0].resources: Required value: some",
        "rules[0].verbs: Required value",
        "rules[2].verbs: Required value",
    ]


def test_what_an_update_leaves_is_not_checked_again() -> None:
    old = {"rules": [{"verbs": []}]}
    assert beside("rbac.authorization.k8s.io", "roles", [], {"rules": [{"verbs": []}]}, old) == []


def test_an_immutable_field_shows_no_value() -> None:
    old, new = {"provisioner": "a", "parameters": {}}, {"provisioner": "b"}
    found = [invalid("provisioner", "b", "field is immutable")]
    told = ["provisioner: Invalid value: null: field is immutable"]
    assert beside("storage.k8s.io", "storageclasses", found, new, old) == told


def test_another_fault_of_the_same_field_stays() -> None:
    found = [invalid("spec.maxReplicas", 0, "must be greater than or equal to `minReplicas`")]
    scaler = {"spec": {"maxReplicas": 0}}
    told = beside("autoscaling", "horizontalpodautoscalers", found, scaler)
    assert told == [str(found[0]), "spec.maxReplicas: Required value"]


def test_a_request_is_approved_or_denied() -> None:
    def request(*kinds: str) -> dict[str, Any]:
        return {"status": {"conditions": [{"type": kind} for kind in kinds]}}

    text = "Approved and Denied conditions are mutually exclusive"
    found, both = [invalid("status.conditions", "Denied", text)], request("Approved", "Denied")
    (told,) = beside("certificates.k8s.io", "certificatesigningrequests", found, both, request("Approved"))
    assert told.endswith(
        'must specify at most one of: `conditions[{"type": "Approved"}]`, `conditions[{"type": "Denied"}]`'
    )
    more = request("Approved", "Denied", "Other")
    assert beside("certificates.k8s.io", "certificatesigningrequests", [], more, both) == []


def test_a_member_that_is_not_there_has_no_rules() -> None:
    for path, errors in (("a?.b", 0), ("a.b", 1)):
        assert len(errors_beside(Declaration([DeclaredRules(path, (required,))]), [], {}, None)) == errors


@pytest.mark.parametrize(("once", "causes"), [(False, 2), (True, 1)])
def test_an_error_that_is_found_twice_is_told_once_where_the_release_does_so(once: bool, causes: int) -> None:
    answer = status.invalid("", "Pod", "p", [missing("spec.a"), missing("spec.a")], once=once)
    assert answer.details is not None and len(answer.details["causes"]) == causes


def told(resource: str, new: Any, old: Any = None, gates: Gates | None = None) -> list[str]:
    rules = strategy_for("resource.k8s.io", resource, "", gates or Gates("1.37")).declared
    return list(map(str, errors_beside(rules, [], new, old)))


def test_items_are_compared_with_the_old_ones_of_their_key() -> None:
    old = {"spec": {"sharedCounters": [{"name": "A"}, {"name": "b", "counters": {"x": {}}}]}}
    new = {"spec": {"sharedCounters": [{"name": "b", "counters": {"x": {}, "X": {}}}, {"name": "A"}]}}
    (error,) = told("resourceslices", new, old)
    assert error.startswith('spec.sharedCounters[0].counters: Invalid value: "X": a lowercase RFC 1123 label')
    assert [each.split(": ")[0] for each in told("resourceslices", new)] == [
        "spec.sharedCounters[0].counters",
        "spec.sharedCounters[1].name",
        "spec.sharedCounters[1].counters",
    ]


def test_items_without_a_key_are_checked_again_once_their_list_changes() -> None:
    old = {"spec": {"devices": [{"taints": [{"effect": "Odd"}]}]}}
    assert told("resourceslices", old, old) == []
    assert len(told("resourceslices", {"spec": {"devices": [*old["spec"]["devices"], {}]}}, old)) == 1


def test_a_value_is_one_of_its_kinds() -> None:
    kinds = "`int`, `bool`, `string`, `version`, `ints`, `bools`, `strings`, `versions`"

    def attributes(**given: Any) -> dict[str, Any]:
        return {"spec": {"devices": [{"attributes": {"a": given}}]}}

    path = "spec.devices[0].attributes[a]: Invalid value: "
    assert told("resourceslices", attributes()) == [f'{path}"": must specify one of: {kinds}']
    assert told("resourceslices", attributes(int=1, bool=False)) == [
        f'{path}"{{int, bool}}": must specify exactly one of: {kinds}'
    ]
    assert told("resourceslices", attributes(version="1.0.0")) == []


def test_what_ends_a_field_ends_what_is_below_it() -> None:
    old, new = {"spec": {"devices": {}}}, {"spec": {"devices": {"requests": [{"name": "a"}] * 2}}}
    assert told("resourceclaims", new, old) == ["spec: Invalid value: null: field is immutable"]
    assert told("resourceclaims", new) == ['spec.devices.requests[1]: Duplicate value: {"name":"a"}']


def test_an_allocation_is_removed_and_not_changed() -> None:
    old, new = ({"status": {"allocation": {"nodeSelector": {"a": each}}}} for each in (1, 2))
    assert told("resourceclaims", new, old) == [
        "status.allocation: Invalid value: null: field cannot be modified once set"
    ]
    assert told("resourceclaims", {"status": {}}, old) == told("resourceclaims", new, {"status": {}}) == []


def test_a_field_is_forbidden_while_its_gate_is_off() -> None:
    new = {"spec": {"partitionTypeAttribute": "a"}}
    assert told("resourceslices", new) == ["spec.partitionTypeAttribute: Forbidden"]
    assert told("resourceslices", new, new) == []


def level(kind: str, **members: Any) -> dict[str, Any]:
    return {"spec": {"type": kind, **members}}


@pytest.mark.parametrize(
    ("new", "errors"),
    [
        (level("Limited", limited={"limitResponse": {"type": "Reject"}}), []),
        (level("Exempt", exempt={}), []),
        (level("Limited"), ["spec.limited: Required value"]),
        (level("Exempt", limited={"limitResponse": {"type": "Reject"}}), ["spec.limited: Forbidden"]),
        (
            level("Limited", limited={"limitResponse": {"type": "Queue"}}, exempt={}),
            ["spec.exempt: Forbidden", "spec.limited.limitResponse.queuing: Required value"],
        ),
    ],
)
def test_the_members_of_a_priority_level_follow_from_its_type(new: Any, errors: list[str]) -> None:
    assert beside("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations", [], new) == errors


def test_a_silent_rule_ends_its_field() -> None:
    old, new = {"roleRef": {"name": "a"}}, {"roleRef": {"name": ""}}
    found = [missing("roleRef.name")]
    assert beside("rbac.authorization.k8s.io", "rolebindings", found, new, old) == ["roleRef.name: Required value"]
    assert beside("rbac.authorization.k8s.io", "rolebindings", [], new, old) == []


def test_names_of_attachers_are_told_by_their_format() -> None:
    found = [invalid("spec.attacher", "a" * 64, "must be no more than 63 characters")]
    attachment = {"spec": {"attacher": "a_" + "b" * 62}}
    texts = beside("storage.k8s.io", "volumeattachments", found, attachment)
    assert [text.split(": ")[1:3] for text in texts] == [
        ["Invalid value", f'"{attachment["spec"]["attacher"]}"'],
        ["Too long", "may not be more than 63 characters"],
    ]


def test_very_many_errors_are_told_in_part() -> None:
    devices = [{"driver": "a", "pool": "p", "device": "d"}] * 5_000
    found = told("resourceclaims", {"status": {"devices": devices}})
    assert 0 < len(found) < len(devices)
    assert found[0] == 'status.devices[1]: Duplicate value: {"driver":"a","pool":"p","device":"d"}'
