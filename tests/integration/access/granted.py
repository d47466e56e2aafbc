"""A simple model of RBAC: the rights that roles and bindings grant. Servers' decisions are compared with it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

from tests.integration.access.attempts import RBAC

Json = dict[str, Any]
MASTERS = "system:masters"


@dataclass(frozen=True, slots=True)
class Principal:
    """The user who sends a request."""

    name: str
    groups: frozenset[str]


@dataclass(frozen=True, slots=True)
class Right:
    """A right. An empty namespace means cluster scope, an empty name all names."""

    verb: str
    group: str
    resource: str
    namespace: str = ""
    name: str = ""


class Granted:
    """The rights of all users, by the roles and bindings at one time."""

    def __init__(self, objects: dict[str, list[Json]]) -> None:
        """`objects` are all roles, clusterroles, rolebindings and clusterrolebindings."""
        self._roles = {
            (kind, each["metadata"].get("namespace", ""), each["metadata"]["name"]): each.get("rules") or []
            for kind, plural in (("Role", "roles"), ("ClusterRole", "clusterroles"))
            for each in objects[plural]
        }
        self._bindings = [*objects["clusterrolebindings"], *objects["rolebindings"]]
        self._found: dict[tuple[Principal, str], list[Json]] = {}

    def allows(self, who: Principal, right: Right) -> bool:
        """Whether a user has a right."""
        return MASTERS in who.groups or any(_covers(rule, right) for rule in self._rules(who, right.namespace))

    def can_give(self, who: Principal, right: Right) -> bool:
        """Whether a user could grant a right: by having it, or by a right to bind or to escalate in that namespace."""
        if self.allows(who, right):
            return True
        lifted = (Right(verb, RBAC, kind, right.namespace) for verb, kind in _LIFTED)
        return any(self._allows_some(who, each) for each in lifted)

    def _allows_some(self, who: Principal, right: Right) -> bool:
        """Whether a user has a right, at least for objects with some names."""
        return any(_covers({**rule, "resourceNames": None}, right) for rule in self._rules(who, right.namespace))

    def _rules(self, who: Principal, namespace: str) -> list[Json]:
        key = who, namespace
        if key not in self._found:
            self._found[key] = list(self._rules_of(who, namespace))
        return self._found[key]

    def _rules_of(self, who: Principal, namespace: str) -> Iterator[Json]:
        for binding in self._bindings:
            home, ref = binding["metadata"].get("namespace", ""), binding["roleRef"]
            if home in ("", namespace) and any(_is(who, each, home) for each in binding.get("subjects") or ()):
                scope = home if ref["kind"] == "Role" else ""
                yield from self._roles.get((ref["kind"], scope, ref["name"]), ())


_LIFTED = tuple(product(("bind", "escalate"), ("roles", "clusterroles")))


def _is(who: Principal, subject: Json, home: str) -> bool:
    match subject["kind"]:
        case "Group":
            return subject["name"] in who.groups
        case "ServiceAccount":
            return who.name == f"system:serviceaccount:{subject.get('namespace') or home}:{subject['name']}"
    return bool(subject["name"] == who.name)


def _covers(rule: Json, right: Right) -> bool:
    names = rule.get("resourceNames") or [right.name]
    _, slash, subresource = right.resource.partition("/")
    resources = {right.resource, "*"} | ({f"*/{subresource}"} if slash else set())
    return (
        {right.verb, "*"} & set(rule["verbs"]) != set()
        and {right.group, "*"} & set(rule.get("apiGroups") or ()) != set()
        and resources & set(rule.get("resources") or ()) != set()
        and right.name in names
    )
