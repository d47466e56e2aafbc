"""The context of a write for strategies, hooks and validation: everything but its objects."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Protocol

from gateway.http.user import User
from gateway.http.warnings import Warnings
from gateway.kinds.attributes import Attributes
from gateway.kinds.recurring import ANY_SPECIFICATION, Specification
from gateway.validation.field import FieldError


class NamedResource(Protocol):
    """The resource of a write, by its names: all that a strategy may know of it."""

    @property
    def group(self) -> str: ...

    @property
    def resource(self) -> str: ...


@dataclass(slots=True)
class WriteContext:
    """The circumstances of one write.

    `namespace` and `name` are the object's as far as they are known: a generated name comes late. `warnings` become
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
    deadline: float | None = None  # by the loop's clock: when the client stops waiting, where it has said so
    access_errors: Sequence[FieldError] = ()  # rights beyond the request's that the user lacks
    unstored: Sequence[str] = ()  # members of an update that are not stored as they were sent: empty maps, null bytes
    metadata_errors: Sequence[FieldError] = ()  # which strategies need not find, but may have to know of

    @property
    def user(self) -> User:
        """The user who writes."""
        return self.request.user

    def of_object(self, namespace: str, name: str) -> WriteContext:
        """The context of a write of another object of the resource."""
        other = copy(self)
        other.namespace, other.name = namespace, name
        return other
