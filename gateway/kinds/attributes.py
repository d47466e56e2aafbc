"""What is being done, by whom and to what: the one thing that access, admission and strategies are asked about.

As apiserver's `authorizer.Attributes` and `admission.Attributes`, which say the same of a request at two of its stages.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from enum import Enum
from typing import TYPE_CHECKING

from gateway.http.request_info import RequestInfo
from gateway.http.user import User
from gateway.jsontypes import JsonObject

if TYPE_CHECKING:
    from gateway.kinds.recurring import Recurrence
    from gateway.kinds.resource import Resource
    from gateway.validation.field import FieldError


class Operation(Enum):
    """What is done to an object, as admission names it."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    CONNECT = "CONNECT"


class Attributes:
    """A request's attributes, or those of a write that no request asked for.

    `user` and `info` (verb, path, group, resource, …) are there from the start, which is all that access asks for; a
    write sets the others when it begins. `name` and `namespace` are the object's as far as they are known: a
    generated name comes late. `warnings` become Warning headers (code 299) of the answer.
    """

    __slots__ = (
        "dry_run",
        "info",
        "manager",
        "metadata_errors",
        "name",
        "namespace",
        "now",
        "obj",
        "old",
        "operation",
        "recurrence",
        "resource",
        "user",
        "warnings",
    )

    def __init__(self, user: User, info: RequestInfo) -> None:
        self.user, self.info = user, info
        self.resource: Resource
        self.namespace: str
        self.name: str
        self.operation: Operation
        self.obj: JsonObject | None  # in the storage version; None for a delete
        self.old: JsonObject | None  # what is stored, None for a create
        self.manager: str  # the field manager
        self.now: str  # RFC 3339 time of the request, seconds
        self.dry_run: bool
        self.warnings: list[str]
        self.recurrence: Recurrence | None  # of a new object whose specification has come before
        self.metadata_errors: Sequence[FieldError]  # which strategies need not find, but may have to know of

    @property
    def subresource(self) -> str:
        """The subresource's name, "" for the resource itself."""
        return self.resource.subresource

    def begin(
        self,
        resource: Resource,
        *,
        namespace: str = "",
        name: str = "",
        manager: str = "",
        now: str = "",
        dry_run: bool = False,
        warnings: list[str] | None = None,
    ) -> Attributes:
        """Sets what a write knows from its start; returns itself."""
        self.resource, self.namespace, self.name = resource, namespace, name
        self.manager, self.now, self.dry_run = manager, now, dry_run
        self.warnings = [] if warnings is None else warnings
        self.operation, self.obj, self.old, self.recurrence = Operation.CREATE, None, None, None
        self.metadata_errors = ()
        return self

    def of_object(self, namespace: str, name: str) -> Attributes:
        """The same for another object of the resource."""
        other = copy(self)
        other.namespace, other.name = namespace, name
        return other
