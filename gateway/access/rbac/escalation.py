"""Privilege escalation prevention: users may only grant rights that they have themselves.

As kube-apiserver's `registry/rbac` policy-based storages ("Using RBAC Authorization", "Privilege escalation prevention
and bootstrapping"). Every write of a role or binding is checked here, also an update by patch or apply.
"""

from __future__ import annotations

from collections.abc import Sequence

from gateway.access.authorization import Authorizer, asked_of_resource
from gateway.access.rbac.policy import GROUP, RbacPolicy, aggregated, role_ref
from gateway.access.rbac.rules import (
    FULL_AUTHORITY,
    PolicyRule,
    TooManyRights,
    compile_rules,
    described,
    quoted,
    uncovered,
)
from gateway.http import status
from gateway.http.status import StatusError
from gateway.http.user import MASTERS_GROUP
from gateway.jsontypes import JsonObject
from gateway.kinds.attributes import Attributes
from gateway.time_limits import soon_or_in_thread
from gateway.validation.field import go_quote

ROLES = frozenset({"roles", "clusterroles"})
_RESOURCES = {"Role": "roles", "ClusterRole": "clusterroles"}
_COLLECTORS = ("ownerReferences", "finalizers", "selfLink", "managedFields")


class EscalationGuard:
    """Checks the writes of roles and bindings."""

    def __init__(self, policy: RbacPolicy, authorizer: Authorizer) -> None:
        self._policy, self._authorizer = policy, authorizer

    async def check(self, attributes: Attributes, obj: JsonObject, old: JsonObject | None) -> None:
        """Checks a write that replaces `old`, None for a create, by `obj`.

        Raises StatusError 403 if it grants rights that its user does not have, 404 for a binding to a missing role.
        """
        if MASTERS_GROUP in attributes.user.groups:
            return
        is_role = attributes.info.resource in ROLES
        if is_role and await self._may(attributes, "escalate", attributes.info.resource, attributes.info.name):
            return
        if old is not None and _only_collected(obj, old):
            return
        if is_role:
            await self._check_role(attributes, obj, old or {})
        else:
            await self._check_binding(attributes, obj)

    async def _may(self, attributes: Attributes, verb: str, resource: str, name: str) -> bool:
        info = attributes.info
        asked = asked_of_resource(attributes.user, verb, GROUP, resource, name, namespace=info.namespace)
        return (await self._authorizer.authorize(asked)).allowed

    async def _check_role(self, attributes: Attributes, obj: JsonObject, old: JsonObject) -> None:
        await self._check_rights(attributes, obj, compile_rules(obj.get("rules")))
        if (_aggregates(obj) or _aggregates(old)) and uncovered(self._owned(attributes), FULL_AUTHORITY):
            raise _refused(attributes, obj, "must have cluster-admin privileges to use the aggregationRule")

    async def _check_binding(self, attributes: Attributes, obj: JsonObject) -> None:
        role = role_ref(obj, attributes.info.namespace)
        if role.kind not in _RESOURCES or obj["roleRef"].get("apiGroup") != GROUP:
            return  # validation runs next and refuses it
        if await self._may(attributes, "bind", _RESOURCES[role.kind], role.name):
            return
        rules = self._policy.rules(role)
        if rules is None:
            info = attributes.info
            raise status.not_found(info.group, info.resource, role.name)
        await self._check_rights(attributes, obj, rules)

    async def _check_rights(self, attributes: Attributes, obj: JsonObject, wanted: Sequence[PolicyRule]) -> None:
        user = attributes.user
        intro = f"user {go_quote(user.name)} (groups={quoted(user.groups)}) is attempting to grant RBAC permissions"
        owned = self._owned(attributes)
        try:
            missing = await soon_or_in_thread(lambda: described(uncovered(owned, wanted)))
        except TooManyRights:
            raise _refused(attributes, obj, f"{intro} of more combinations than can be checked") from None
        if not missing:
            return
        text = f"{intro} not currently held:\n" + "\n".join(missing)
        _, absent = self._policy.rules_for(user, attributes.info.namespace)
        info = attributes.info  # kube-apiserver's message has the resource of the request, not "roles"
        errors = [status.not_found(info.group, info.resource, role.name).message for role in absent]
        raise _refused(
            attributes,
            obj,
            f"{text}; resolution errors: [{aggregated(list(dict.fromkeys(errors)))}]" if errors else text,
        )

    def _owned(self, attributes: Attributes) -> list[PolicyRule]:
        rules, _ = self._policy.rules_for(attributes.user, attributes.info.namespace)
        return list(dict.fromkeys(rules))


def _aggregates(role: JsonObject) -> bool:
    return bool((role.get("aggregationRule") or {}).get("clusterRoleSelectors"))


def _refused(attributes: Attributes, obj: JsonObject, cause: str) -> StatusError:
    info = attributes.info
    return status.forbidden(info.group, info.resource, obj["metadata"].get("name", ""), cause)


def _only_collected(obj: JsonObject, old: JsonObject) -> bool:
    """Whether only metadata changes that the garbage collector writes, such as owner references and finalizers."""
    return _without_collectors(obj) == _without_collectors(old)


def _without_collectors(obj: JsonObject) -> JsonObject:
    meta = {key: value for key, value in obj["metadata"].items() if key not in _COLLECTORS}
    return {**obj, "metadata": meta}
