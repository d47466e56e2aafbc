"""What a MutatingAdmissionPolicy makes of one object with one parameter."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from gateway.admission.expressions import Activation, Evaluation, Match, MatchConditions, OutOfBudget
from gateway.admission.policies.applying import MutationFailed, apply_configuration
from gateway.admission.policies.json_patching import apply_patches
from gateway.admission.policies.target_type import TargetType
from gateway.admission.policies.validation import compiled_variables
from gateway.cel.costs import PER_OBJECT
from gateway.cel.policies import Compiled, PolicyExpressions
from gateway.jsontypes import JsonObject, dumps
from gateway.validation.expressions import Use

BIG = 96 * 1024  # bytes of an object from which on it is patched in a thread
COSTLY = 20_000  # units that an expression cost whose value may be large

Patch = Callable[[JsonObject, Any, TargetType], JsonObject]
_PATCHES: Mapping[str, tuple[str, Use, Patch]] = {
    "ApplyConfiguration": ("applyConfiguration", Use.APPLY_CONFIGURATION, apply_configuration),
    "JSONPatch": ("jsonPatch", Use.JSON_PATCH, apply_patches),
}


class MutatingPolicy:
    """The compiled expressions of one policy."""

    def __init__(self, name: str, spec: JsonObject) -> None:
        self._fails = spec.get("failurePolicy", "Fail") != "Ignore"
        self.again = spec.get("reinvocationPolicy") == "IfNeeded"
        expressions = PolicyExpressions("paramKind" in spec, composed=True)
        self._variables: Mapping[str, Compiled] = compiled_variables(spec, expressions)
        self._conditions = MatchConditions.compile(spec.get("matchConditions") or (), expressions, self._variables)
        self.mutations = [_mutation(each, expressions) for each in spec.get("mutations") or ()]

    async def match(self, activation: Activation) -> Match:
        """Whether its match conditions hold."""
        return await self._conditions.match(replace(activation, namespace=None), fail=self._fails)

    async def mutate(
        self, mutation: tuple[Compiled, Patch], obj: JsonObject, activation: Activation, target: TargetType
    ) -> JsonObject:
        """What a mutation makes of an object, which stays as it is. Raises MutationFailed, StatusError 500."""
        compiled, patch = mutation
        if compiled.fault is not None:
            raise MutationFailed(compiled.fault.message)
        evaluation = Evaluation(replace(activation, obj=obj), self._variables)
        try:
            result = await evaluation.result(compiled)
        except OutOfBudget as error:
            raise MutationFailed(str(error)) from None
        if result.error:
            raise MutationFailed(result.error)
        if len(dumps(obj)) > BIG or evaluation.budget < PER_OBJECT - COSTLY:
            return await asyncio.to_thread(patch, obj, result.value, target)
        return patch(obj, result.value, target)


def _mutation(spec: JsonObject, expressions: PolicyExpressions) -> tuple[Compiled, Patch]:
    key, use, patch = _PATCHES[spec["patchType"]]
    return expressions.compile(spec[key]["expression"], use), patch
