"""All policies of a process."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gateway.admission.policies.configuration import Bindings
from gateway.jsontypes import JsonObject
from gateway.kinds.registry import Registry

if TYPE_CHECKING:
    from gateway.admission.policies.validation import ValidatingPolicy


def _validating(name: str, spec: JsonObject) -> ValidatingPolicy:
    from gateway.admission.policies.validation import ValidatingPolicy  # which compiles expressions

    return ValidatingPolicy(name, spec)


@dataclass(slots=True)
class Policies:
    """The policies that are in force, by their kinds."""

    registry: Registry = field(default_factory=Registry)
    validating: Bindings[ValidatingPolicy] = field(init=False)

    def __post_init__(self) -> None:
        self.validating = Bindings(self.registry, _validating)

    def sorts(self) -> Iterator[tuple[str, Bindings[ValidatingPolicy]]]:
        """What their kinds begin with in lower case, and them."""
        yield "validating", self.validating
