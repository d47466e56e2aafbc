"""All policies of a process, validating and mutating."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateway.admission.policies.configuration import Bindings
from gateway.jsontypes import JsonObject
from gateway.kinds.registry import Registry

if TYPE_CHECKING:
    from gateway.admission.policies.mutation import MutatingPolicy
    from gateway.admission.policies.validation import ValidatingPolicy


def _validating(name: str, spec: JsonObject) -> ValidatingPolicy:
    from gateway.admission.policies.validation import ValidatingPolicy  # imported late: it imports the CEL compiler

    return ValidatingPolicy(name, spec)


def _mutating(name: str, spec: JsonObject) -> MutatingPolicy:
    from gateway.admission.policies.mutation import MutatingPolicy

    return MutatingPolicy(name, spec)


class Policies:
    """The policies that are in force, by their kinds."""

    __slots__ = ("mutating", "validating")

    def __init__(self, registry: Registry) -> None:
        self.validating: Bindings[ValidatingPolicy] = Bindings(registry, _validating)
        self.mutating: Bindings[MutatingPolicy] = Bindings(registry, _mutating)

    def have_parameter(self, group: str, kind: str) -> bool:
        """Whether objects of a kind may be parameters of a policy, so that the next write has to see their changes."""
        named = (group, kind)
        return named in self.validating.param_kinds or named in self.mutating.param_kinds
