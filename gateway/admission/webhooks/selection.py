"""Which of the webhooks that may concern a write do so: by labels, then by their match conditions."""

from __future__ import annotations

from gateway.admission.chain import Parts
from gateway.admission.decisions import Decisions
from gateway.admission.expressions import Activation, activation_of
from gateway.admission.matching import Candidate, Target, selects
from gateway.admission.record import Admission
from gateway.admission.refusal import refused
from gateway.admission.webhooks.configuration import Hook, Hooks


class Selection:
    """Selects for one half of one admission."""

    def __init__(self, parts: Parts, admission: Admission, hooks: Hooks) -> None:
        """Raises StatusError 403 where it is not known yet which webhooks there are."""
        if not hooks.informed:
            raise refused(admission, admission.obj, "not yet ready to handle request")
        self._parts, self._admission = parts, admission
        self._decisions: Decisions | None = None
        self._activations: dict[Target, Activation] = {}

    async def target(self, candidate: Candidate[Hook]) -> Target | None:
        """As what a webhook is to be asked about the request; None where it is not. Raises StatusError 403, 404."""
        admission, hook = self._admission, candidate.hook
        target = candidate.target(admission.name)
        if target is None or not await selects(candidate.constraints, admission, self._parts.objects):
            return None
        if hook.conditions is None:
            return target
        match = await hook.conditions.match(await self._activation(target), fail=hook.fails)
        if match.error:
            raise refused(admission, admission.obj, match.error)
        return target if match.matches else None

    async def _activation(self, target: Target) -> Activation:
        known = self._activations.get(target)
        if known is None:
            if self._decisions is None:
                self._decisions = Decisions(self._parts.authorizer)
            versioned = await self._admission.as_version(target.kind.group_version)
            known = self._activations[target] = activation_of(
                self._admission, versioned, target.kind, self._decisions, resource=target.resource
            )
        return known

    def forget(self) -> None:
        """To be called where the object has been changed."""
        self._activations.clear()
