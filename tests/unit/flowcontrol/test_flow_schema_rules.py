"""Which flow schema and flow a request belongs to."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.flowcontrol.configuration import FlowConfiguration
from gateway.flowcontrol.objects import LEVELS, SCHEMAS, default_levels, default_schemas
from gateway.http.request_info import request_info
from gateway.http.user import User

ANYBODY = ("system:authenticated",)


def configured(*schemas: dict[str, Any]) -> FlowConfiguration:
    configuration = FlowConfiguration(600)
    for name, spec in default_levels():
        configuration.put(LEVELS, {"metadata": {"name": name, "uid": f"level-{name}"}, "spec": spec})
    for name, spec in (*default_schemas(), *((each["name"], each["spec"]) for each in schemas)):
        configuration.put(SCHEMAS, {"metadata": {"name": name, "uid": f"schema-{name}"}, "spec": spec})
    return configuration


def schema_of(configuration: FlowConfiguration, user: User, method: str, path: str) -> str:
    return configuration.flow(user, request_info(method, path, {})).schema


@pytest.mark.parametrize(
    ("user", "request_line", "schema"),
    [
        (User("root", ("system:masters",)), "GET /api/v1/pods", "exempt"),
        (User("a", ANYBODY), "GET /readyz", "probes"),
        (User("a", ANYBODY), "GET /readyz/ping", "probes"),
        (User("a", ANYBODY), "GET /version", "global-default"),
        (User("a", ANYBODY), "GET /api/v1/pods", "global-default"),
        (User("system:node:n", ("system:nodes", *ANYBODY)), "PATCH /api/v1/nodes/n/status", "system-node-high"),
        (User("system:node:n", ("system:nodes", *ANYBODY)), "GET /api/v1/namespaces/a/pods", "system-nodes"),
        (
            User("system:kube-scheduler", ANYBODY),
            "PUT /apis/coordination.k8s.io/v1/namespaces/kube-system/leases/x",
            "system-leader-election",
        ),
        (User("system:kube-scheduler", ANYBODY), "GET /api/v1/pods", "kube-scheduler"),
        (User("system:serviceaccount:kube-system:x", ANYBODY), "GET /api/v1/pods", "kube-system-service-accounts"),
        (
            User("system:serviceaccount:default:x", ("system:serviceaccounts", *ANYBODY)),
            "GET /api/v1/pods",
            "service-accounts",
        ),
        (User("stranger"), "GET /api/v1/pods", "catch-all"),
    ],
)
def test_default_schemas_find_their_requests(user: User, request_line: str, schema: str) -> None:
    assert schema_of(configured(), user, *request_line.split()) == schema


def rule(**parts: Any) -> dict[str, Any]:
    everything = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"], "clusterScope": True}
    return {"subjects": [{"kind": "User", "user": {"name": "*"}}], "resourceRules": [everything | parts]}


def own(**parts: Any) -> FlowConfiguration:
    spec = {"priorityLevelConfiguration": {"name": "workload-low"}, "matchingPrecedence": 3, "rules": [rule(**parts)]}
    return configured({"name": "own", "spec": spec})


@pytest.mark.parametrize(
    ("parts", "request_line", "matches"),
    [
        ({"resources": ["pods"]}, "GET /api/v1/pods", True),
        ({"resources": ["pods"]}, "GET /api/v1/namespaces/a/pods/p/status", False),
        ({"resources": ["pods/status"]}, "GET /api/v1/namespaces/a/pods/p/status", True),
        ({"clusterScope": False}, "GET /api/v1/pods", False),
        ({"clusterScope": False}, "GET /api/v1/namespaces/a/pods", True),
        ({"namespaces": ["b"]}, "GET /api/v1/namespaces/a/pods", False),
        ({"namespaces": []}, "GET /api/v1/nodes", True),
        ({"verbs": ["list"]}, "GET /api/v1/nodes", True),
        ({"verbs": ["list"]}, "GET /api/v1/nodes/n", False),
        ({"apiGroups": ["apps"]}, "GET /api/v1/pods", False),
    ],
)
def test_a_rule_asks_for_verb_group_resource_and_scope(parts: dict[str, Any], request_line: str, matches: bool) -> None:
    assert (schema_of(own(**parts), User("u", ANYBODY), *request_line.split()) == "own") is matches


def test_schemas_whose_level_is_missing_are_passed_over() -> None:
    spec = {"priorityLevelConfiguration": {"name": "nowhere"}, "matchingPrecedence": 3, "rules": [rule()]}
    assert schema_of(configured({"name": "own", "spec": spec}), User("u", ANYBODY), "GET", "/api/v1/pods") != "own"


def test_of_the_same_precedence_the_first_name_counts() -> None:
    spec = {"priorityLevelConfiguration": {"name": "workload-low"}, "matchingPrecedence": 3, "rules": [rule()]}
    configuration = configured({"name": "b", "spec": spec}, {"name": "a", "spec": spec})
    assert schema_of(configuration, User("u", ANYBODY), "GET", "/api/v1/pods") == "a"


def test_flows_are_told_apart_by_user_or_namespace() -> None:
    configuration = configured()
    hands = {configuration.flow(User(f"u{n}", ANYBODY), request_info("GET", "/api/v1/pods", {})).hand for n in range(9)}
    assert len(hands) == 9
    scheduler = User("system:kube-scheduler", ANYBODY)
    by_namespace = {
        configuration.flow(scheduler, request_info("GET", f"/api/v1/namespaces/{name}/pods", {})).hand for name in "aab"
    }
    assert len(by_namespace) == 2


def test_the_answer_names_both_by_uid() -> None:
    flow = configured().flow(User("root", ("system:masters",)), request_info("GET", "/api", {}))
    assert dict(flow.headers) == {
        b"x-kubernetes-pf-flowschema-uid": b"schema-exempt",
        b"x-kubernetes-pf-prioritylevel-uid": b"level-exempt",
    }


def test_without_any_objects_the_mandatory_ones_hold() -> None:
    configuration = FlowConfiguration(600)
    assert schema_of(configuration, User("root", ("system:masters",)), "GET", "/api/v1/pods") == "exempt"
    assert schema_of(configuration, User("u", ANYBODY), "GET", "/api/v1/pods") == "catch-all"
    assert configuration.levels["catch-all"].limit == 600


@pytest.mark.parametrize(
    ("resource", "metadata", "spec"),
    [
        (SCHEMAS, {}, {"matchingPrecedence": "1"}),
        (SCHEMAS, {}, {"priorityLevelConfiguration": {"name": ["x"]}}),
        (SCHEMAS, {}, {"distinguisherMethod": {"type": {}}}),
        (SCHEMAS, {"uid": 1}, {}),
        (LEVELS, {"uid": None}, {}),
        (LEVELS, {}, {"type": "Limited", "limited": {"nominalConcurrencyShares": 1.5}}),
        (LEVELS, {}, {"type": "Limited", "limited": {"borrowingLimitPercent": "1"}}),
        (LEVELS, {}, {"type": "Limited", "limited": {"limitResponse": {"type": "Queue", "queuing": {"queues": 64.5}}}}),
    ],
)
def test_what_has_wrong_types_is_not_put_in_force(
    resource: str, metadata: dict[str, Any], spec: dict[str, Any]
) -> None:
    configuration = configured()
    with pytest.raises(TypeError):
        configuration.put(resource, {"metadata": {"name": "wrong", **metadata}, "spec": spec})
    assert schema_of(configuration, User("a", ANYBODY), "GET", "/api/v1/pods") == "global-default"
