"""Which rule of an audit policy applies to a request, and which policies are invalid."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.audit.policy import AuditLevel, AuditStage, policy_of
from gateway.http.request_info import RequestInfo, request_info
from gateway.http.user import User
from gateway.settings.configuration_file import InvalidConfiguration

ADA = User("ada", ("people", "system:authenticated"))
POD = request_info("GET", "/api/v1/namespaces/web/pods/one", {})
LOG = request_info("GET", "/api/v1/namespaces/web/pods/one/log", {})
SCALE = request_info("PUT", "/apis/apps/v1/namespaces/web/deployments/d/scale", {})
NODES = request_info("GET", "/api/v1/nodes", {})
HEALTH = request_info("GET", "/healthz/etcd", {})


def policy(*rules: Any, **more: Any) -> Any:
    return policy_of({"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": list(rules), **more})


def resources(*names: str, group: str = "", **more: Any) -> dict[str, Any]:
    return {"resources": [{"group": group, "resources": list(names), **more}]}


@pytest.mark.parametrize(
    ("rule", "info", "matches"),
    [
        ({}, POD, True),
        ({}, HEALTH, True),
        ({"users": ["ada"]}, POD, True),
        ({"users": ["bob"]}, POD, False),
        ({"userGroups": ["people"]}, POD, True),
        ({"userGroups": ["robots"]}, POD, False),
        ({"verbs": ["list", "get"]}, POD, True),
        ({"verbs": ["update"]}, POD, False),
        ({"namespaces": ["web"]}, POD, True),
        ({"namespaces": ["web"]}, NODES, False),
        ({"namespaces": [""]}, NODES, True),
        ({"namespaces": [""]}, HEALTH, False),
        (resources(), POD, True),
        (resources(group="apps"), POD, False),
        (resources(group="*"), POD, True),
        (resources("pods"), POD, True),
        (resources("pods"), LOG, False),
        (resources("pods/log"), LOG, True),
        (resources("pods/*"), LOG, True),
        (resources("pods/*"), POD, True),
        (resources("*/log"), LOG, True),
        (resources("*/log"), POD, False),
        (resources("*"), LOG, True),
        (resources("*/scale", group="apps"), SCALE, True),
        (resources("pods", resourceNames=["one"]), POD, True),
        (resources("pods", resourceNames=["two"]), POD, False),
        (resources("pods"), HEALTH, False),
        ({"nonResourceURLs": ["/healthz*"]}, HEALTH, True),
        ({"nonResourceURLs": ["/healthz"]}, HEALTH, False),
        ({"nonResourceURLs": ["/healthz/etcd"]}, HEALTH, True),
        ({"nonResourceURLs": ["*"]}, HEALTH, True),
        ({"nonResourceURLs": ["*"]}, POD, False),
        ({"users": ["ada"], "verbs": ["list"]}, POD, False),
    ],
)
def test_a_rule_matches_what_all_of_its_parts_match(rule: dict[str, Any], info: RequestInfo, matches: bool) -> None:
    found = policy({"level": "Metadata", **rule}).rule_for(ADA, info)
    assert (found is not None) is matches


def test_of_somebody_unknown_no_rule_about_users_speaks() -> None:
    rules = policy({"level": "Request", "users": [""]}, {"level": "Request", "userGroups": ["people"]}).rules
    assert not any(rule.matches(None, POD) for rule in rules)
    assert policy({"level": "Metadata"}).rule_for(None, POD) is not None


def test_the_first_rule_that_matches_decides() -> None:
    found = policy({"level": "None", **resources("pods")}, {"level": "Request"})
    assert found.rule_for(ADA, POD) is None
    assert found.rule_for(ADA, NODES).level is AuditLevel.REQUEST
    assert policy({"level": "Metadata", "users": ["bob"]}).rule_for(ADA, POD) is None


def test_what_the_policy_omits_every_rule_does() -> None:
    rules = policy(
        {"level": "Metadata", "omitStages": ["Panic"]},
        {"level": "Metadata", "omitManagedFields": False},
        omitStages=["RequestReceived"],
        omitManagedFields=True,
    ).rules
    assert [rule.omitted for rule in rules] == [
        {AuditStage.PANIC, AuditStage.REQUEST_RECEIVED},
        {AuditStage.REQUEST_RECEIVED},
    ]
    assert [rule.without_managed_fields for rule in rules] == [True, False]


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"level": ""}, r"rules\[0\].level: required"),
        ({"level": "All"}, r"rules\[0\].level: 'All' is not supported: give None, Metadata, Request, RequestResponse"),
        ({"omitStages": ["Never"]}, r"rules\[0\].omitStages\[0\]: 'Never': allowed stages are RequestReceived,"),
        ({"nonResourceURLs": ["healthz"]}, "must begin with"),
        ({"nonResourceURLs": ["/a*b"]}, "last character only"),
        ({"nonResourceURLs": ["/a"], "namespaces": ["a"]}, "cannot apply to both"),
        (resources(group="apps/v1"), r"resources\[0\].group: 'apps/v1'"),
        (resources(resourceNames=["one"]), "requires at least one resource"),
        ({"users": "ada"}, r"rules\[0\].users must be a list of texts"),
        ({"omitManagedFields": "yes"}, r"rules\[0\].omitManagedFields must be true or false"),
        ({"resources": ["pods"]}, r"rules\[0\].resources\[0\] must be an object"),
    ],
)
def test_what_a_rule_has_wrong_is_said(rule: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidConfiguration, match=message):
        policy({"level": "Metadata", **rule})


def test_a_field_that_is_none_is_said(caplog: pytest.LogCaptureFixture) -> None:
    policy({"level": "Metadata", "user": ["ada"]})
    assert '--audit-policy-file: unknown field "rules[0].user" is ignored' in caplog.text


@pytest.mark.parametrize(
    "found", [None, [], {}, {"kind": "Policy", "apiVersion": "audit.k8s.io/v1beta1", "rules": [{"level": "None"}]}]
)
def test_other_kinds_are_no_policies(found: Any) -> None:
    with pytest.raises(InvalidConfiguration, match="must be of kind Policy"):
        policy_of(found)
    with pytest.raises(InvalidConfiguration, match="no rules"):
        policy()
