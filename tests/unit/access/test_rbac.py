"""Decisions by roles and bindings: who is granted what, why, and that no change is missed."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.access.authorization import Decision, Masters, Verdict
from gateway.access.rbac.authorizer import RBAC
from gateway.access.rbac.policy import Kind, Policy
from gateway.http.request_info import request_info
from gateway.http.user import User
from gateway.kinds.attributes import Attributes

GROUP = "rbac.authorization.k8s.io"
ADA = User("ada", ("team", "system:authenticated"))
ROBOT = User("system:serviceaccount:home:robot", ("system:authenticated",))
PODS = [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]


def role(name: str, namespace: str = "", rules: Any = None) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": namespace}, "rules": PODS if rules is None else rules}


def binding(name: str, kind: str, to: str, *subjects: dict[str, str], namespace: str = "") -> dict[str, Any]:
    ref = {"apiGroup": GROUP, "kind": kind, "name": to}
    return {"metadata": {"name": name, "namespace": namespace}, "roleRef": ref, "subjects": list(subjects)}


def user(name: str) -> dict[str, str]:
    return {"kind": "User", "apiGroup": GROUP, "name": name}


def asked(who: User, path: str = "/api/v1/namespaces/x/pods/p", method: str = "GET") -> Attributes:
    return Attributes(who, request_info(method, path, {}))


@pytest.fixture
def policy() -> Policy:
    return Policy()


@pytest.fixture
def rbac(policy: Policy) -> RBAC:
    return RBAC(policy)


def changed(policy: Policy) -> None:
    """What following a cache does after each change."""
    for listener in policy._listeners:
        listener()


def test_a_binding_grants_in_its_namespace_alone(policy: Policy, rbac: RBAC) -> None:
    policy.put(Kind.ROLE, role("r", "x"))
    policy.put(Kind.BINDING, binding("b", "Role", "r", user("ada"), namespace="x"))
    reason = 'RBAC: allowed by RoleBinding "b/x" of Role "r" to User "ada"'
    assert rbac.decide(asked(ADA)) == Verdict(Decision.ALLOW, reason)
    assert not rbac.decide(asked(ADA, "/api/v1/namespaces/y/pods/p")).allowed
    assert not rbac.decide(asked(ADA, "/api/v1/pods")).allowed
    assert not rbac.decide(asked(ADA, method="DELETE")).allowed


@pytest.mark.parametrize(
    ("who", "subject", "text"),
    [
        (ADA, {"kind": "Group", "name": "team"}, 'Group "team"'),
        (ROBOT, {"kind": "ServiceAccount", "name": "robot", "namespace": "home"}, 'ServiceAccount "robot/home"'),
    ],
)
def test_groups_and_accounts_are_bound_cluster_wide(
    policy: Policy, rbac: RBAC, who: User, subject: dict[str, str], text: str
) -> None:
    policy.put(Kind.CLUSTER_ROLE, role("r"))
    policy.put(Kind.CLUSTER_BINDING, binding("b", "ClusterRole", "r", user("nobody"), subject))
    reason = f'RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "r" to {text}'
    assert rbac.decide(asked(who)) == Verdict(Decision.ALLOW, reason)


def test_every_change_is_in_force_at_once(policy: Policy, rbac: RBAC) -> None:
    policy.put(Kind.CLUSTER_ROLE, role("r"))
    again = binding("c", "ClusterRole", "r", user("ada"), user("ada"), namespace="x")
    steps = [
        (lambda: policy.put(Kind.BINDING, binding("b", "ClusterRole", "r", user("ada"), namespace="x")), True),
        (lambda: policy.put(Kind.CLUSTER_ROLE, role("r", rules=[])), False),
        (lambda: policy.put(Kind.CLUSTER_ROLE, role("r")), True),
        (lambda: policy.put(Kind.BINDING, binding("b", "ClusterRole", "r", user("bob"), namespace="x")), False),
        (
            lambda: policy.put(Kind.BINDING, again),
            True,
        ),
        (lambda: policy.drop(Kind.BINDING, "x", "c"), False),
    ]
    for step, allowed in steps:
        step()
        changed(policy)
        assert rbac.decide(asked(ADA)).allowed is allowed


def test_a_missing_role_is_told_and_harms_no_other(policy: Policy, rbac: RBAC) -> None:
    policy.put(Kind.BINDING, binding("a", "Role", "absent", user("ada"), namespace="x"))
    reason = f'RBAC: role.{GROUP} "absent" not found'
    assert rbac.decide(asked(ADA)) == Verdict(Decision.NO_OPINION, reason)
    policy.put(Kind.ROLE, role("r", "x"))
    policy.put(Kind.BINDING, binding("b", "Role", "r", user("ada"), namespace="x"))
    changed(policy)
    assert rbac.decide(asked(ADA)).allowed


async def test_masters_may_do_everything(rbac: RBAC) -> None:
    masters = Masters([rbac])
    assert (await masters.authorize(asked(User("root", ("system:masters",)), "/anything", "POST"))).allowed
    assert not (await masters.authorize(asked(ADA, "/anything", "POST"))).allowed


def test_nothing_is_left_of_what_was_dropped(policy: Policy) -> None:
    policy.put(
        Kind.CLUSTER_BINDING,
        binding("b", "ClusterRole", "r", user("ada"), user("ada"), {"kind": "Group", "name": "team"}),
    )
    policy.drop(Kind.CLUSTER_BINDING, "", "b")
    assert not policy._granted
    assert not policy._bindings
