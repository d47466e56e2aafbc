"""The RBAC authorizer: decides by roles and bindings. Decisions are cached until any role or binding changes."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from gateway.access.authorization import NO_OPINION, Decision, Verdict
from gateway.access.rbac.policy import RbacPolicy, aggregated
from gateway.http.status import too_many_requests
from gateway.kinds.attributes import Attributes
from gateway.memo import Memory

ROLES_TIMEOUT = 5.0  # seconds that a decision waits for the default roles, which the server makes at its start
_DECISION_SIZE = 1000  # bytes of a cached question and its verdict, besides user, path and reason
_MEMORABLE = 4096  # characters; decisions about longer questions are not cached
_MOST_PARTS = 512  # groups and extra values of the user; with more, a decision is not cached

_Question = tuple[object, ...]


class RBAC:
    """Allows a request if a rule of one of the user's roles allows it; has no opinion otherwise."""

    def __init__(self, policy: RbacPolicy) -> None:
        self._policy = policy
        self._decided: Memory[_Question, Verdict] = Memory(8 << 20)
        policy.on_change(self._decided.clear)

    def known(self, attributes: Attributes) -> Verdict | None:
        """The cached verdict; None without one."""
        return self._decided.get(_question(attributes))

    async def authorize(self, attributes: Attributes) -> Verdict:
        """The verdict on a request, with the binding that allows it as the reason.

        Raises StatusError 429 as long as the roles have not been read from etcd.
        """
        if not self._policy.complete.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._policy.complete.wait(), ROLES_TIMEOUT)
            if not self._policy.loaded:
                raise too_many_requests("storage is (re)initializing")
        return self.decide(attributes)

    def decide(self, attributes: Attributes) -> Verdict:
        """The verdict on a request, by the roles that are known now. Does not wait."""
        question = _question(attributes)
        verdict = self._decided.get(question)
        if verdict is None:
            verdict = self._decide(attributes)
            if _is_memorable(attributes):
                size = attributes.user.size + len(attributes.info.path) + _DECISION_SIZE
                self._decided.keep(question, verdict, size + len(verdict.reason))
        return verdict

    def _decide(self, attributes: Attributes) -> Verdict:
        user, info, policy = attributes.user, attributes.info, self._policy
        combined = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
        errors: dict[str, None] = {}
        for named, role in policy.relevant(user, info):
            rules = policy.rules(role)
            if rules is None:
                errors[role.missing()] = None
                continue
            for rule in rules:
                if rule.allows(info, combined):
                    binding = next(iter(named.values()))
                    return Verdict(Decision.ALLOW, f"RBAC: allowed by {binding.grants(user)}")
        return Verdict(Decision.NO_OPINION, f"RBAC: {aggregated(list(errors))}") if errors else NO_OPINION


def _question(attributes: Attributes) -> _Question:
    user, info = attributes.user, attributes.info
    if info.is_resource:
        return user, info.verb, info.resource, info.namespace, info.name, info.subresource, info.group
    return user, info.verb, info.path


def _is_memorable(attributes: Attributes) -> bool:
    user, info = attributes.user, attributes.info
    if len(user.groups) + len(user.extra) > _MOST_PARTS:
        return False
    texts = [user.name, user.uid, *user.groups, info.verb, info.path, info.group, info.resource, info.subresource]
    texts += [info.namespace, info.name]
    for key, values in user.extra:
        if len(values) > _MOST_PARTS:
            return False
        texts += (key, *values)
    return sum(map(len, texts)) + 8 * len(texts) <= _MEMORABLE
