"""Fields that an update changes by empty lists alone, as recorded of kube-apiserver 1.37.2."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.apply.emptied import emptied_fields
from gateway.schema.decode import DecodeReport, decode
from gateway.schema.empty_lists import compared_deeply
from tests.unit.validation.replaying import resource_of

RULE = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
ANY_POD: dict[str, Any] = {"podSelector": {"matchLabels": {}}}
EXISTS = {"key": "a", "operator": "Exists"}
NO_VALUES = {**EXISTS, "values": []}
MATCHING = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": {"matchFields": []}}]}
SECRET = {"name": "v", "projected": {"sources": [{"secret": {"name": "s", "items": []}}]}}
TAINT = {"key": "c", "effect": "NoExecute", "timeAdded": "0001-01-01T00:00:00Z"}


def changed(written: str, sent: dict[str, Any]) -> Any:
    type_ = resource_of(written).model_version.type
    report = DecodeReport()
    made = decode(type_, sent, report)
    return emptied_fields(type_, sent, made) if report.emptied else None


@pytest.mark.parametrize(
    ("written", "sent", "fields"),
    [
        ("rbac.authorization.k8s.io/v1/roles", {"rules": [{**RULE, "resourceNames": []}]}, {"f:rules": {}}),
        ("rbac.authorization.k8s.io/v1/roles", {"rules": [RULE]}, None),
        ("networking.k8s.io/v1/networkpolicies", {"spec": {"egress": []}}, {}),
        ("networking.k8s.io/v1/networkpolicies", {"spec": {"ingress": [{"from": [ANY_POD]}]}}, {"f:ingress": {}}),
        ("networking.k8s.io/v1/networkpolicies", {"spec": {"podSelector": {"matchExpressions": []}}}, {}),
        (
            "networking.k8s.io/v1/networkpolicies",
            {"spec": {"podSelector": {"matchExpressions": [NO_VALUES]}}},
            {"f:podSelector": {}},
        ),
        (
            "v1/pods",
            {"spec": {"volumes": [SECRET]}},
            {"f:volumes": {'k:{"name":"v"}': {"f:projected": {"f:sources": {}}}}},
        ),
        (
            "v1/pods",
            {"spec": {"affinity": {"nodeAffinity": MATCHING}}},
            {"f:affinity": {"f:nodeAffinity": {"f:preferredDuringSchedulingIgnoredDuringExecution": {}}}},
        ),
        ("v1/nodes", {"spec": {"taints": [TAINT]}}, {"f:taints": {}}),
    ],
)
def test_an_empty_list_in_an_item_changes_the_atomic_field(written: str, sent: Any, fields: Any) -> None:
    assert changed(written, sent) == (fields if not fields or "f:rules" in fields else {"f:spec": fields})


@pytest.mark.parametrize(
    ("written", "sent", "counted"),
    [
        ("networking.k8s.io/v1/networkpolicies", {"spec": {"egress": []}}, ("spec",)),
        ("networking.k8s.io/v1/networkpolicies", {"spec": {"podSelector": {}}}, ()),
        ("networking.k8s.io/v1/ingresses", {"spec": {"tls": []}}, ()),
        ("admissionregistration.k8s.io/v1/validatingwebhookconfigurations", {"webhooks": []}, ("webhooks",)),
        (
            "admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
            {"webhooks": [{"name": "a", "clientConfig": {"caBundle": ""}}]},
            ("webhooks",),
        ),
    ],
)
def test_an_empty_list_counts_a_generation_where_go_compares_deeply(written: str, sent: Any, counted: Any) -> None:
    type_ = resource_of(written).model_version.type
    assert compared_deeply(type_, sent, decode(type_, sent, DecodeReport())) == counted
