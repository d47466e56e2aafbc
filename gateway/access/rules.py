"""Lists the rules that apply to a user, as far as the authorizers can list them (SelfSubjectRulesReview)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from gateway.access.nodes.identity import node_of
from gateway.access.rbac.policy import RbacPolicy, aggregated
from gateway.access.rbac.rules import FULL_AUTHORITY, PolicyRule
from gateway.http.user import User
from gateway.jsontypes import JsonObject

_UNKNOWN = {
    "Node": "node authorizer does not support user rule resolution",
    "Webhook": "webhook authorizer does not support user rule resolution",
}


@dataclass(slots=True)
class OwnRules:
    """A user's resource rules and nonResourceURLs rules; `incomplete` if some authorizer cannot list its own."""

    resources: list[JsonObject] = field(default_factory=list)
    paths: list[JsonObject] = field(default_factory=list)
    incomplete: bool = False
    error: str = ""


def own_rules(modes: Sequence[str], policy: RbacPolicy, user: User, namespace: str) -> OwnRules:
    """The rules that apply to a user in a namespace, of the authorizers of `modes`."""
    found, errors = OwnRules(), []
    for mode in modes:
        rules: Sequence[PolicyRule] = ()
        if mode == "AlwaysAllow":
            rules = FULL_AUTHORITY
        elif mode == "RBAC":
            rules, missing = policy.rules_for(user, namespace)
            errors += [aggregated([role.missing() for role in missing])] if missing else []
        elif mode == "Webhook" or (mode == "Node" and node_of(user) is not None):
            found.incomplete = True
            errors.append(_UNKNOWN[mode])
        found.resources += [each.spec for each in rules if each.resources]
        found.paths += [each.spec for each in rules if each.urls]
    found.error = aggregated(errors) if errors else ""
    return found
