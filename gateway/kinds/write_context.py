"""The context of a write for strategies, hooks and validation: all but the objects."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from gateway.http.user import User
from gateway.http.warnings import Warnings
from gateway.kinds.attributes import Attributes
from gateway.kinds.recurring import ANY_SPECIFICATION, Specification
from gateway.validation.field import FieldError

T = TypeVar("T")


class Once(Protocol):
    """Returns the result of `make`, or the cached one. `make` must depend on the spec of an object alone.

    `fact` is the name of the result.
    """

    def __call__(self, fact: Hashable, make: Callable[[], T]) -> T: ...


each_time: Once = ANY_SPECIFICATION.once
"""Caches nothing."""


class NamedResource(Protocol):
    """The names of a write's resource; a strategy may know no more of it."""

    @property
    def group(self) -> str: ...

    @property
    def resource(self) -> str: ...


@dataclass(slots=True)
class WriteContext:
    """The circumstances of one write.

    `namespace` and `name` are those of the object; `name` is "" until a generated name is known. `warnings` become
    Warning headers (code 299) of the answer.
    """

    request: Attributes
    resource: NamedResource
    namespace: str = ""
    name: str = ""
    manager: str = ""  # the field manager
    now: str = ""  # RFC 3339 time of the write, seconds
    dry_run: bool = False
    warnings: Warnings = field(default_factory=Warnings)
    specification: Specification = ANY_SPECIFICATION  # of a new object
    deadline: float | None = None  # by the loop's clock: when the client stops waiting; None if the client has not said
    access_errors: Sequence[FieldError] = ()  # rights that the user lacks, beyond those to the request itself
    unstored: Sequence[str] = ()  # members of an update that are not stored as sent: empty maps, null bytes
    metadata_errors: Sequence[FieldError] = ()  # found by the generic validation; some strategies depend on them

    @property
    def once(self) -> Once:
        """Caches results that depend on the spec of the new object alone, if the spec recurs."""
        return self.specification.once

    def has_passed(self, rule: Hashable) -> bool:
        """Whether the spec of the new object is known to pass a rule that depends on the spec alone."""
        return self.specification.has_passed(rule)

    def passes(self, rule: Hashable) -> None:
        """Records that the spec of the new object passes a rule."""
        self.specification.passes(rule)

    @property
    def user(self) -> User:
        """The user of the request."""
        return self.request.user

    def of_object(self, namespace: str, name: str) -> WriteContext:
        """The context for another object of the same resource."""
        other = copy(self)
        other.namespace, other.name = namespace, name
        return other
