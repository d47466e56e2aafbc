"""Users with random rights try to gain more by every kind of write; none gets a right that no writer could grant."""

from __future__ import annotations

import asyncio
from itertools import product
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from gateway.access.authorization import Masters
from gateway.access.rbac.authorizer import RBAC
from gateway.access.rbac.policy import RbacPolicy, RbacResource
from gateway.controllers.role_aggregation import outdated
from gateway.http.request_info import RequestInfo
from gateway.http.status import StatusError
from gateway.http.user import User
from gateway.jsontypes import loads
from gateway.kinds.attributes import Attributes
from tests.examples import examples
from tests.unit.verbs.conftest import ADMIN, Api

GROUP = "rbac.authorization.k8s.io"
NAMESPACES = ("default", "other")
USERS = {name: User(name, ("system:authenticated",)) for name in ("ada", "bob", "cid")}
NAMES = ("one", "two")
WRITES = ("create", "update", "patch", "delete")
KINDS = {"Role": "roles", "ClusterRole": "clusterroles", "RoleBinding": "rolebindings"}
KINDS["ClusterRoleBinding"] = "clusterrolebindings"
APPLY, JSON = "application/apply-patch+yaml", "application/json"
WAYS = st.sampled_from(["POST", "PUT", "merge", "apply", "json"])

Right = tuple[str, str, str, str]  # namespace ("" is cluster-wide), verb, group, resource

RULES = st.lists(
    st.one_of(
        st.fixed_dictionaries(
            {
                "verbs": st.lists(st.sampled_from((*WRITES, "bind", "escalate", "*")), min_size=1, max_size=4),
                "apiGroups": st.just([GROUP]),
                "resources": st.lists(st.sampled_from((*KINDS.values(), "*")), min_size=1, max_size=3),
            }
        ),
        st.fixed_dictionaries(
            {
                "verbs": st.lists(st.sampled_from(("get", "list", "*")), min_size=1, max_size=2),
                "apiGroups": st.sampled_from([[""], ["*"]]),
                "resources": st.sampled_from([["pods"], ["secrets"], ["*"]]),
            },
            optional={"resourceNames": st.just(["mine"])},
        ),
    ),
    max_size=3,
)
BASE = st.tuples(
    st.fixed_dictionaries(
        {
            "verbs": st.just(["create", "update", "patch"]),
            "apiGroups": st.just([GROUP]),
            "resources": st.lists(st.sampled_from(sorted(KINDS.values())), min_size=2, max_size=4),
        }
    ),
    st.fixed_dictionaries({"verbs": st.just(["get"]), "apiGroups": st.just([""]), "resources": st.just(["pods"])}),
).map(list)
PROBES = [
    *product(("", *NAMESPACES), (*WRITES, "bind", "escalate"), (GROUP,), KINDS.values()),
    *product(("", *NAMESPACES), ("get", "list"), ("",), ("pods", "secrets")),
]


class Escalation(RuleBasedStateMachine):
    """`before` has the rights of users at the last check. `writer` is the user who has written since then."""

    def __init__(self) -> None:
        super().__init__()
        self.api = Api()
        self.policy = RbacPolicy()
        self.rbac = RBAC(self.policy)
        services = self.api.endpoints.services
        services.authorizer, services.policy = Masters([self.rbac]), self.policy
        self._send(ADMIN, "POST", "/api/v1/namespaces", {"metadata": {"name": "other"}})
        self.writer = ""
        self.before: dict[str, set[Right]] = {name: set() for name in USERS}

    @initialize(rules=st.tuples(*(BASE for _ in USERS)))
    def users_may_write_some_roles_and_bindings(self, rules: tuple[list[Any], ...]) -> None:
        for name, of_user in zip(USERS, rules, strict=True):
            self._write(ADMIN, "PUT", "ClusterRole", "", f"base-{name}", {"rules": of_user})
            self._write(
                ADMIN, "POST", "ClusterRoleBinding", "", f"base-{name}", _binding(("ClusterRole", f"base-{name}"), name)
            )

    @rule(namespace=st.sampled_from(NAMESPACES), name=st.sampled_from(NAMES), rules=RULES, kind=st.booleans())
    def administrator_writes_role(self, namespace: str, name: str, rules: list[Any], kind: bool) -> None:
        self._write(ADMIN, "PUT", "ClusterRole" if kind else "Role", namespace, name, {"rules": rules})

    @rule(
        namespace=st.sampled_from(NAMESPACES),
        name=st.sampled_from(NAMES),
        to=st.sampled_from([("Role", "one"), ("ClusterRole", "one"), ("ClusterRole", "two")]),
        who=st.sampled_from(sorted(USERS)),
        wide=st.booleans(),
    )
    def administrator_binds(self, namespace: str, name: str, to: tuple[str, str], who: str, wide: bool) -> None:
        kind = "ClusterRoleBinding" if wide and to[0] == "ClusterRole" else "RoleBinding"
        self._write(ADMIN, "POST", kind, namespace, f"{name}-{who}-{to[1]}", _binding(to, who))

    @rule(
        who=st.sampled_from(sorted(USERS)),
        way=WAYS,
        namespace=st.sampled_from(NAMESPACES),
        name=st.sampled_from(NAMES),
        rules=RULES,
        wide=st.booleans(),
        aggregates=st.booleans(),
    )
    def user_writes_role(
        self, who: str, way: str, namespace: str, name: str, rules: list[Any], wide: bool, aggregates: bool
    ) -> None:
        content: dict[str, Any] = {"rules": rules}
        if wide and aggregates:
            content["aggregationRule"] = {"clusterRoleSelectors": [{}]}
        self._write(USERS[who], way, "ClusterRole" if wide else "Role", namespace, name, content)

    @rule(
        who=st.sampled_from(sorted(USERS)),
        way=WAYS,
        namespace=st.sampled_from(NAMESPACES),
        name=st.sampled_from(NAMES),
        to=st.sampled_from([("Role", "one"), ("Role", "two"), ("ClusterRole", "one"), ("ClusterRole", "two")]),
        whom=st.sampled_from(sorted(USERS)),
        wide=st.booleans(),
    )
    def user_binds(
        self, who: str, way: str, namespace: str, name: str, to: tuple[str, str], whom: str, wide: bool
    ) -> None:
        kind = "ClusterRoleBinding" if wide else "RoleBinding"
        self._write(USERS[who], way, kind, namespace, f"{name}-{whom}-{to[1]}", _binding(to, whom))

    @invariant()
    def nobody_has_gained_what_the_writer_lacked(self) -> None:
        now = {name: self._rights(user) for name, user in USERS.items()}
        if self.writer and self.writer != ADMIN.name:
            had = self.before[self.writer]
            for name, rights in now.items():
                for right in rights - self.before[name]:
                    assert _could_give(had, right), f"{self.writer} gave {name} {right} and had no right to"
        self.before, self.writer = now, ""

    def _rights(self, user: User) -> set[Right]:
        return {right for right in PROBES if self.rbac.decide(_asked(user, right)).allowed}

    def _write(self, user: User, way: str, kind: str, namespace: str, name: str, content: dict[str, Any]) -> None:
        obj = {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": {"name": name}, **content}
        scope = "" if kind.startswith("Cluster") else f"namespaces/{namespace}/"
        collection = f"/apis/{GROUP}/v1/{scope}{KINDS[kind]}"
        path = collection if way == "POST" else f"{collection}/{name}"
        match way:
            case "apply":
                self._send(user, "PATCH", path, obj, APPLY, "fieldManager=test&force=true")
            case "json":
                patch = [{"op": "add", "path": f"/{member}", "value": value} for member, value in content.items()]
                self._send(user, "PATCH", path, patch, "application/json-patch+json")
            case "merge":
                self._send(user, "PATCH", path, content, "application/merge-patch+json")
            case _:
                self._send(user, way, path, obj)
        self._aggregate()
        self.writer = user.name

    def _send(self, user: User, method: str, path: str, body: Any, media: str = JSON, query: str = "") -> None:
        try:
            asyncio.run(self.api.send(method, path, body, media, query, user))
        except StatusError as error:
            assert error.code < 500, error.message
        self._follow()

    def _follow(self) -> None:
        """Brings the policy up to date with the store, which nothing watches here."""
        for key in list(self.policy._bindings):
            self.policy._unbind(key)
        self.policy._roles.clear()
        for kind in RbacResource:
            for key, stored in self.api.store.objects.items():
                if key.startswith(f"/registry/{kind.value}/".encode()):
                    self.policy.put(kind, loads(stored.value))
        for listener in self.policy._listeners:
            listener()

    def _aggregate(self) -> None:
        """Does the controller's work."""
        prefix = b"/registry/clusterroles/"
        stored = [loads(each.value) for key, each in self.api.store.objects.items() if key.startswith(prefix)]
        for name, rules in outdated({role["metadata"]["name"]: role for role in stored}):
            path = f"/apis/{GROUP}/v1/clusterroles/{name}"
            self._send(ADMIN, "PATCH", path, {"rules": rules}, "application/merge-patch+json")


def _binding(to: tuple[str, str], who: str) -> dict[str, Any]:
    subject = {"apiGroup": GROUP, "kind": "User", "name": who}
    return {"roleRef": {"apiGroup": GROUP, "kind": to[0], "name": to[1]}, "subjects": [subject]}


def _asked(user: User, right: Right) -> Attributes:
    namespace, verb, group, resource = right
    return Attributes(user, RequestInfo(verb, "", True, group=group, resource=resource, namespace=namespace))


def _could_give(had: set[Right], right: Right) -> bool:
    """Whether who had some rights could give one: by having it, or by being allowed to bind or to escalate there."""
    namespace = right[0]
    scopes = {"", namespace}
    lifted = product(scopes, ("bind", "escalate"), (GROUP,), KINDS.values())
    return any((scope, *right[1:]) in had for scope in scopes) or any(each in had for each in lifted)


Escalation.TestCase.settings = settings(max_examples=examples(25), stateful_step_count=20, deadline=None)
TestEscalation = Escalation.TestCase
