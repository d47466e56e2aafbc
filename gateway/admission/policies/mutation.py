"""Applies the mutations of a MutatingAdmissionPolicy to one object, with one parameter object."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from gateway.admission.condition_metrics import ConditionOwner
from gateway.admission.expressions import Activation, Evaluation, Match, MatchConditions, OutOfBudget
from gateway.admission.policies.apply_configuration import MutationFailed, apply_configuration
from gateway.admission.policies.json_patch import apply_patches
from gateway.admission.policies.target_type import TargetType
from gateway.admission.policies.validation import compiled_variables
from gateway.cel.costs import PER_OBJECT
from gateway.cel.editions import edition_of
from gateway.cel.meter import weigh
from gateway.cel.policies import Compiled, PolicyExpressions
from gateway.jsontypes import JsonObject, dumps
from gateway.release.gates import Enabled
from gateway.release.release import DEFAULT_GATES
from gateway.validation.expressions import Use

BIG = 96 * 1024  # bytes of the object, the old object or the parameter: above that, a thread makes the mutation
LARGEST = 1 << 18  # values that one mutation may have: an expression can use an object many times
MANY = 2000  # values of a mutation: above that, a thread makes it
COSTLY = 20_000  # units of cost of an expression: above that its value may be large, and a thread makes the mutation

Patch = Callable[[JsonObject, Any, TargetType, Iterable[Any]], JsonObject]
_PATCHES: Mapping[str, tuple[str, Use, Patch]] = {
    "ApplyConfiguration": ("applyConfiguration", Use.APPLY_CONFIGURATION, apply_configuration),
    "JSONPatch": ("jsonPatch", Use.JSON_PATCH, apply_patches),
}


class MutatingPolicy:
    """The compiled expressions of one policy."""

    def __init__(self, name: str, spec: JsonObject, enabled: Enabled = DEFAULT_GATES.enabled) -> None:
        self._asker = ConditionOwner(name, "policy", "validate")  # kube-apiserver's label, though the policy mutates
        self._fails = spec.get("failurePolicy", "Fail") != "Ignore"
        self.again = spec.get("reinvocationPolicy") == "IfNeeded"
        expressions = PolicyExpressions("paramKind" in spec, composed=True, edition=edition_of(enabled))
        self._variables: Mapping[str, Compiled] = compiled_variables(spec, expressions)
        self._conditions = MatchConditions.compile(spec.get("matchConditions") or (), expressions, self._variables)
        self.mutations = [_mutation(each, expressions) for each in spec.get("mutations") or ()]

    async def match(self, activation: Activation) -> Match:
        """Whether its match conditions hold."""
        activation = replace(activation, namespace=None)
        return await self._conditions.match(activation, fail=self._fails, asker=self._asker)

    async def mutate(
        self, mutation: tuple[Compiled, Patch], obj: JsonObject, activation: Activation, target: TargetType
    ) -> JsonObject:
        """Applies a mutation and returns the result; `obj` is not changed. Raises MutationFailed, StatusError 500."""
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
        read = (obj, activation.old, activation.params, activation.request, activation.namespace)
        size = weigh(result.value, {})
        if size > LARGEST:
            raise MutationFailed(f"a mutation may not come to more than {LARGEST} values or {LARGEST * 16} characters")
        large = any(each is not None and len(dumps(each)) > BIG for each in (obj, activation.old, activation.params))
        if large or size > MANY or evaluation.budget < PER_OBJECT - COSTLY:
            return await asyncio.to_thread(patch, obj, result.value, target, read)
        return patch(obj, result.value, target, read)


def _mutation(spec: JsonObject, expressions: PolicyExpressions) -> tuple[Compiled, Patch]:
    key, use, patch = _PATCHES[spec["patchType"]]
    return expressions.compile(spec[key]["expression"], use), patch
