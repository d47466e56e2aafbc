"""All policies of a process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gateway.admission.policies.configuration import Bindings
from gateway.jsontypes import JsonObject
from gateway.kinds.registry import Registry
from storage.cache import ResourceCache, WatchCache

if TYPE_CHECKING:
    from gateway.admission.policies.mutation import MutatingPolicy
    from gateway.admission.policies.validation import ValidatingPolicy


def _validating(name: str, spec: JsonObject) -> ValidatingPolicy:
    from gateway.admission.policies.validation import ValidatingPolicy  # which compiles expressions

    return ValidatingPolicy(name, spec)


def _mutating(name: str, spec: JsonObject) -> MutatingPolicy:
    from gateway.admission.policies.mutation import MutatingPolicy

    return MutatingPolicy(name, spec)


@dataclass(slots=True)
class Policies:
    """The policies that are in force, by their kinds."""

    registry: Registry = field(default_factory=Registry)
    validating: Bindings[ValidatingPolicy] = field(init=False)
    mutating: Bindings[MutatingPolicy] = field(init=False)

    def __post_init__(self) -> None:
        self.validating = Bindings(self.registry, _validating)
        self.mutating = Bindings(self.registry, _mutating)

    def have_parameter(self, group: str, kind: str) -> bool:
        """Whether objects of a kind may be parameters: the next write has to see them as they are."""
        named = (group, kind)
        return named in self.validating.param_kinds or named in self.mutating.param_kinds

    def follow(self, cache: WatchCache, of: Callable[[str], ResourceCache]) -> None:
        """Keeps all of them up to date from caches, which `of` finds by the plurals of their resources."""
        self.validating.follow(cache, of("validatingadmissionpolicies"), of("validatingadmissionpolicybindings"))
        self.mutating.follow(cache, of("mutatingadmissionpolicies"), of("mutatingadmissionpolicybindings"))
