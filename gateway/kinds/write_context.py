"""The context of a write for strategies, hooks and validation: all but the objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from gateway.http.user import User
from gateway.jsontypes import JsonObject
from gateway.kinds.attributes import Attributes
from gateway.kinds.spec_templates import ANY_SPECIFICATION, Specification, SpecTemplate
from gateway.memo import Once
from gateway.release.gates import Enabled
from gateway.release.release import DEFAULT_RELEASE, Release
from gateway.schema.empty_lists import with_empty_fields
from gateway.schema.types import Type
from gateway.validation.field import FieldError


class NamedResource(Protocol):
    """The names of a write's resource; a strategy may know no more of it."""

    @property
    def group(self) -> str: ...

    @property
    def resource(self) -> str: ...


Warn = Callable[[Iterable[str]], None]
"""Adds warnings to the answer, even if the request is refused (code 299). It reads no more of them than are sent."""


def unheard(texts: Iterable[str]) -> None:
    """The `Warn` of a write without a client: does nothing."""


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """The options of create, update and patch. `validation` is the fieldValidation directive, "Warn" by default.

    Of a deletion, only `dry_run` is here.
    """

    manager: str = ""
    validation: str = "Warn"
    dry_run: bool = False
    force: bool | None = None
    dry_run_values: int = 0  # how often the query says dryRun=All
    given_validation: str = ""  # the directive as the client gave it


NO_OPTIONS = WriteOptions()


class WriteContext(NamedTuple):
    """The circumstances of one write: who writes what, with what options, until when, in which release; and what its
    phases so far have found.

    `namespace` and `name` are those of the object; `name` is "" until a generated name is known. It never changes: a
    phase that knows more passes another one on. (A tuple, since a frozen dataclass takes seven times as long to make.)
    """

    request: Attributes
    resource: NamedResource
    namespace: str = ""
    name: str = ""
    manager: str = ""  # the field manager; that of the options, unless the client named none
    now: str = ""  # RFC 3339 time of the write, seconds
    options: WriteOptions = NO_OPTIONS
    deadline: float | None = None  # by the loop's clock: when the client stops waiting; None if the client has not said
    specification: Specification = ANY_SPECIFICATION  # of a new object
    unstored: Sequence[str] = ()  # members and paths that are not stored as sent: empty maps and lists, null bytes
    metadata_errors: Sequence[FieldError] = ()  # found by the generic validation; some strategies depend on them
    release: Release = DEFAULT_RELEASE
    warn: Warn = unheard

    @property
    def of_spec(self) -> Once:
        """For results that depend on the spec of a new object alone; of another write, they are made each time."""
        return self.specification.once

    @property
    def known_member(self) -> SpecTemplate | None:
        """The member of a new object whose field set is kept; None if there is none."""
        return self.specification.template

    def spliced(self, obj: JsonObject, type_: Type) -> JsonObject:
        """The object with known members as bytes, which the encoder copies; the same object if none are known."""
        return self.specification.spliced(obj, type_)

    def as_sent(self, obj: JsonObject) -> JsonObject:
        """The object as its rules see it: with the empty lists that the client sent, if the rules look for them."""
        return with_empty_fields(obj, self.unstored) if self.unstored else obj

    @property
    def enabled(self) -> Enabled:
        """Whether the release has a gate or a change."""
        return self.release.gates.enabled

    @property
    def dry_run(self) -> bool:
        """Whether nothing is to be stored, sent or charged."""
        return self.options.dry_run

    @property
    def user(self) -> User:
        """The user of the request."""
        return self.request.user

    @property
    def of_collection(self) -> bool:
        """Whether the request names a collection, and not the object: a deletecollection."""
        return self.request.info.verb == "deletecollection"

    def of_object(self, namespace: str, name: str) -> WriteContext:
        """The context for another object of the same resource."""
        return self._replace(namespace=namespace, name=name)

    def telling(self, warn: Warn) -> WriteContext:
        """The same context, whose warnings go elsewhere."""
        return WriteContext(*self[:-1], warn)

    def prepared(self, obj: JsonObject) -> WriteContext:
        """The context for the phases after the preparation of a new object: its name and spec are final."""
        name, specification = obj["metadata"].get("name", ""), self.specification.prepared(obj)
        if name == self.name and specification is self.specification:
            return self
        request, resource, namespace, _, manager, now, options, deadline, _, *found = self
        own = request, resource, namespace, name, manager, now, options, deadline, specification, *found
        return WriteContext(*own)  # takes half the time of _replace

    def with_metadata_errors(self, errors: Sequence[FieldError]) -> WriteContext:
        """The context for the validation of an object with these errors in its metadata."""
        return self._replace(metadata_errors=errors) if errors else self
