"""RBAC decisions by roles and bindings: who has a right, with which reason, and after every change."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.access.authorization import Decision, Masters, Verdict
from gateway.access.rbac.authorizer import RBAC
from gateway.access.rbac.index import MANY
from gateway.access.rbac.policy import RbacPolicy, RbacResource
from gateway.http.request_info import request_info
from gateway.http.user import User
from gateway.kinds.attributes import Attributes
from tests.limits import at_most_cpu

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
def policy() -> RbacPolicy:
    return RbacPolicy()


@pytest.fixture
def rbac(policy: RbacPolicy) -> RBAC:
    return RBAC(policy)


def changed(policy: RbacPolicy) -> None:
    """What following a cache does after each change."""
    for listener in policy._listeners:
        listener()


def test_a_binding_grants_in_its_namespace_alone(policy: RbacPolicy, rbac: RBAC) -> None:
    policy.put(RbacResource.ROLE, role("r", "x"))
    policy.put(RbacResource.BINDING, binding("b", "Role", "r", user("ada"), namespace="x"))
    reason = 'RBAC: allowed by RoleBinding "b/x" of Role "r" to User "ada"'
    assert rbac.decide(asked(ADA)) == Verdict(Decision.ALLOW, reason)
    assert not rbac.decide(asked(ADA, "/api/v1/namespaces/y/pods/p")).allowed
    assert not rbac.decide(asked(ADA, "/api/v1/pods")).allowed
    assert not rbac.decide(asked(ADA, method="DELETE")).allowed


def test_a_service_account_without_a_namespace_is_that_of_the_binding(policy: RbacPolicy, rbac: RBAC) -> None:
    policy.put(RbacResource.ROLE, role("r", "home"))
    subject = {"kind": "ServiceAccount", "name": "robot"}
    policy.put(RbacResource.BINDING, binding("b", "Role", "r", subject, namespace="home"))
    assert rbac.decide(asked(ROBOT, "/api/v1/namespaces/home/pods/p")).allowed
    policy.put(RbacResource.CLUSTER_BINDING, binding("all", "ClusterRole", "r", subject))
    assert not rbac.decide(asked(ROBOT, "/api/v1/namespaces/y/pods/p")).allowed


@pytest.mark.parametrize(
    ("who", "subject", "text"),
    [
        (ADA, {"kind": "Group", "name": "team"}, 'Group "team"'),
        (ROBOT, {"kind": "ServiceAccount", "name": "robot", "namespace": "home"}, 'ServiceAccount "robot/home"'),
    ],
)
def test_groups_and_accounts_are_bound_cluster_wide(
    policy: RbacPolicy, rbac: RBAC, who: User, subject: dict[str, str], text: str
) -> None:
    policy.put(RbacResource.CLUSTER_ROLE, role("r"))
    policy.put(RbacResource.CLUSTER_BINDING, binding("b", "ClusterRole", "r", user("nobody"), subject))
    reason = f'RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "r" to {text}'
    assert rbac.decide(asked(who)) == Verdict(Decision.ALLOW, reason)


def test_every_change_is_in_force_at_once(policy: RbacPolicy, rbac: RBAC) -> None:
    policy.put(RbacResource.CLUSTER_ROLE, role("r"))
    again = binding("c", "ClusterRole", "r", user("ada"), user("ada"), namespace="x")
    steps = [
        (lambda: policy.put(RbacResource.BINDING, binding("b", "ClusterRole", "r", user("ada"), namespace="x")), True),
        (lambda: policy.put(RbacResource.CLUSTER_ROLE, role("r", rules=[])), False),
        (lambda: policy.put(RbacResource.CLUSTER_ROLE, role("r")), True),
        (lambda: policy.put(RbacResource.BINDING, binding("b", "ClusterRole", "r", user("bob"), namespace="x")), False),
        (
            lambda: policy.put(RbacResource.BINDING, again),
            True,
        ),
        (lambda: policy.drop(RbacResource.BINDING, "x", "c"), False),
    ]
    for step, allowed in steps:
        step()
        changed(policy)
        assert rbac.decide(asked(ADA)).allowed is allowed


def test_a_missing_role_is_told_and_harms_no_other(policy: RbacPolicy, rbac: RBAC) -> None:
    policy.put(RbacResource.BINDING, binding("a", "Role", "absent", user("ada"), namespace="x"))
    reason = f'RBAC: role.{GROUP} "absent" not found'
    assert rbac.decide(asked(ADA)) == Verdict(Decision.NO_OPINION, reason)
    policy.put(RbacResource.ROLE, role("r", "x"))
    policy.put(RbacResource.BINDING, binding("b", "Role", "r", user("ada"), namespace="x"))
    changed(policy)
    assert rbac.decide(asked(ADA)).allowed


async def test_masters_may_do_everything(rbac: RBAC) -> None:
    masters = Masters([rbac])
    assert (await masters.authorize(asked(User("root", ("system:masters",)), "/anything", "POST"))).allowed
    assert not (await masters.authorize(asked(ADA, "/anything", "POST"))).allowed


def test_nothing_is_left_of_what_was_dropped(policy: RbacPolicy) -> None:
    policy.put(
        RbacResource.CLUSTER_BINDING,
        binding("b", "ClusterRole", "r", user("ada"), user("ada"), {"kind": "Group", "name": "team"}),
    )
    policy.drop(RbacResource.CLUSTER_BINDING, "", "b")
    assert not policy._granted
    assert not policy._bindings


MANY_VERBS = st.sampled_from(("get", "list", "delete", "*"))
MANY_RESOURCES = st.sampled_from(("pods", "secrets", "pods/log", "*/log", "*"))
CHANGES = st.lists(
    st.tuples(
        st.sampled_from(("role", "no role", "bind", "unbind")),
        st.integers(0, 5),
        st.lists(MANY_VERBS, min_size=1, max_size=2),
        st.lists(MANY_RESOURCES, min_size=1, max_size=2),
    ),
    max_size=12,
)


@given(CHANGES)
def test_who_has_many_roles_is_decided_about_as_with_few(changes: list[tuple[str, int, list[str], list[str]]]) -> None:
    policy, alone = RbacPolicy(), RbacPolicy()
    rbac, plain = RBAC(policy), RBAC(alone)
    for number in range(MANY + 1):
        policy.put(RbacResource.CLUSTER_ROLE, role(f"none-{number}", rules=[]))
        policy.put(
            RbacResource.CLUSTER_BINDING, binding(f"none-{number}", "ClusterRole", f"none-{number}", user("ada"))
        )
    asked_about = [asked(ADA, f"/api/v1/namespaces/x/{path}") for path in ("pods/p", "pods/p/log", "secrets")]
    asked_about.append(asked(ADA, method="DELETE"))
    for what, number, verbs, resources in changes:
        name = f"r{number}"
        rules = [{"verbs": verbs, "apiGroups": [""], "resources": resources}]
        for each in (policy, alone):
            match what:
                case "role":
                    each.put(RbacResource.CLUSTER_ROLE, role(name, rules=rules))
                case "no role":
                    each.drop(RbacResource.CLUSTER_ROLE, "", name)
                case "bind":
                    each.put(RbacResource.CLUSTER_BINDING, binding(f"b{number}", "ClusterRole", name, user("ada")))
                case "unbind":
                    each.drop(RbacResource.CLUSTER_BINDING, "", f"b{number}")
            changed(each)
        for question in asked_about:
            found, expected = rbac.decide(question), plain.decide(question)
            assert found.decision is expected.decision
            assert ("not found" in found.reason) == ("not found" in expected.reason)


def test_a_decision_is_quick_however_many_roles_somebody_has() -> None:
    policy = RbacPolicy()
    rbac = RBAC(policy)
    for number in range(5000):
        policy.put(RbacResource.CLUSTER_ROLE, role(f"r{number}", rules=[{**PODS[0], "resources": [f"of-{number}"]}]))
        policy.put(RbacResource.CLUSTER_BINDING, binding(f"b{number}", "ClusterRole", f"r{number}", user("ada")))
    question = asked(ADA)
    rbac.decide(question)

    def after_a_change() -> float:
        policy.put(RbacResource.CLUSTER_ROLE, role("r17"))
        changed(policy)
        began = time.thread_time()
        assert rbac.decide(question).allowed
        return (time.thread_time() - began) * 1e6

    at_most_cpu(min(after_a_change() for _ in range(20)), 100, "a decision after a change took {found:.1f} µs")

    def remembered() -> float:
        began = time.thread_time()
        for _ in range(100):
            rbac.known(question)
        return (time.thread_time() - began) * 1e4

    at_most_cpu(min(remembered() for _ in range(20)), 15, "a remembered decision took {found:.1f} µs")
