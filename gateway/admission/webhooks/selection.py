"""Selects webhooks whose rules match a write: by labels of namespace and object, then by their match conditions."""

from __future__ import annotations

from copy import copy

from gateway.admission.chain import PluginParts
from gateway.admission.condition_metrics import ConditionOwner, exclude
from gateway.admission.decisions import Decisions
from gateway.admission.expressions import Activation, activation_of
from gateway.admission.matcher import Candidate, MatchTarget, selects
from gateway.admission.record import Admission
from gateway.admission.refusal import refused
from gateway.admission.webhooks.configuration import Hook, Hooks
from gateway.http.status import forbidden
from storage.time_slice import TimeSlice


class Selection:
    """Selects for one half of one admission."""

    def __init__(self, parts: PluginParts, admission: Admission, hooks: Hooks, half: str) -> None:
        """`half` is the name of the half in metrics of match conditions: "admit", "validate".

        Raises StatusError 403 if the stored webhooks are not loaded yet.
        """
        if not hooks.informed:
            raise refused(admission, admission.obj, "not yet ready to handle request")
        self._parts, self._admission, self._half = parts, admission, half
        self._decisions: Decisions | None = None
        self._activations: dict[MatchTarget, Activation] = {}
        self._slice = TimeSlice()  # of all webhooks together: each has its own budget for conditions

    async def target(self, candidate: Candidate[Hook]) -> MatchTarget | None:
        """The target with which to call a webhook; None if the request does not match.

        Raises StatusError 403 for match conditions that fail, 404 for a missing namespace.
        """
        if self._slice.over():
            await self._slice.next()
        admission, hook = self._admission, candidate.hook
        target = candidate.target(admission.name)
        if target is None or not await selects(candidate.constraints, admission, self._parts.objects):
            return None
        if hook.conditions is None:
            return target
        asker = ConditionOwner(hook.name, "webhook", self._half)
        match = await hook.conditions.match(await self._activation(target), fail=hook.fails, asker=asker)
        if match.error:
            raise forbidden(admission.gvr.group, admission.gvr.resource, admission.name, match.error)
        if not match.matches:
            exclude(asker, admission.operation.value)
        return target if match.matches else None

    async def _activation(self, target: MatchTarget) -> Activation:
        known = self._activations.get(target)
        if known is None:
            if self._decisions is None:
                self._decisions = Decisions(self._parts.authorizer)
            versioned = await self._admission.as_version(target.kind.group_version)
            known = self._activations[target] = activation_of(
                self._admission, versioned, target.kind, self._decisions, resource=target.resource
            )
        return known

    def after(self, admission: Admission) -> Selection:
        """The selection for the record after a change of the object. The authorizer's decisions stay."""
        other = copy(self)
        other._admission, other._activations = admission, {}
        return other
