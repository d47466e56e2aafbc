"""All policies of a process, validating and mutating."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from gateway.admission.policies.configuration import Bindings
from gateway.jsontypes import JsonObject
from gateway.kinds.registry import Registry
from gateway.release.gates import Enabled

if TYPE_CHECKING:
    from gateway.admission.policies.mutation import MutatingPolicy
    from gateway.admission.policies.validation import ValidatingPolicy


def _validating(enabled: Enabled, name: str, spec: JsonObject) -> ValidatingPolicy:
    from gateway.admission.policies.validation import ValidatingPolicy  # imported late: it imports the CEL compiler

    return ValidatingPolicy(name, spec, enabled)


def _mutating(enabled: Enabled, name: str, spec: JsonObject) -> MutatingPolicy:
    from gateway.admission.policies.mutation import MutatingPolicy

    return MutatingPolicy(name, spec, enabled)


class Policies:
    """The policies that are in force, by their kinds."""

    __slots__ = ("mutating", "validating")

    def __init__(self, registry: Registry) -> None:
        enabled = registry.release.gates.enabled
        self.validating: Bindings[ValidatingPolicy] = Bindings(registry, partial(_validating, enabled))
        self.mutating: Bindings[MutatingPolicy] = Bindings(registry, partial(_mutating, enabled))

    def have_parameter(self, group: str, kind: str) -> bool:
        """Whether objects of a kind may be parameters of a policy, so that the next write has to see their changes."""
        named = (group, kind)
        return named in self.validating.param_kinds or named in self.mutating.param_kinds
