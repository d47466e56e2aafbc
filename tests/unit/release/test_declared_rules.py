"""From 1.37 on, errors of declarative validation come after those of the kind, and none comes twice."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.http import status
from gateway.kinds.declared_rules import RULES
from gateway.kinds.strategies import MODULES, strategy_for
from gateway.release.gates import Gates
from gateway.validation.declared import Declared, errors_beside
from gateway.validation.declared_checks import required
from gateway.validation.field import FieldError, invalid
from gateway.validation.field import required as missing


def beside(group: str, resource: str, found: list[FieldError], new: Any, old: Any = None) -> list[str]:
    return list(map(str, errors_beside(rules_of(group, resource), found, new, old)))


def rules_of(group: str, resource: str) -> tuple[Declared, ...]:
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
        assert len(errors_beside((Declared(path, (required,)),), [], {}, None)) == errors


@pytest.mark.parametrize(("once", "causes"), [(False, 2), (True, 1)])
def test_an_error_that_is_found_twice_is_told_once_where_the_release_does_so(once: bool, causes: int) -> None:
    answer = status.invalid("", "Pod", "p", [missing("spec.a"), missing("spec.a")], once=once)
    assert answer.details is not None and len(answer.details["causes"]) == causes
