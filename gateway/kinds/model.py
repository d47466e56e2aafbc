"""The model of a kind: all facts of the kind in one object.

Built-in models are made from the catalog (`gateway.kinds.builtin`), others from a CustomResourceDefinition. A model is
immutable: when a CRD changes, a new model replaces it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from gateway.http.status import StatusError
from gateway.jsontypes import JsonObject
from gateway.kinds.identity import GroupResource, GroupVersion, GroupVersionKind
from gateway.kinds.known_canonical import KnownCanonical
from gateway.kinds.other_minors import IsOutdated
from gateway.kinds.selectable import FieldValue, labels_and_fields_of
from gateway.kinds.storage_form import canonicaliser
from gateway.kinds.strategy import Strategy
from gateway.schema.decode import DecodeReport, decode
from gateway.schema.order import Order, orderer
from gateway.schema.types import Type
from gateway.selectors.fields import DEFAULT, Selectable
from storage.entry import LabelsAndFieldsOf

ConvertObject = Callable[[JsonObject, GroupVersion, GroupVersion], JsonObject]
"""Takes an object, its version and another version; returns the object in that version. Raises ValueError."""

Canonicalise = Callable[[bytes], bytes]

ConvertAll = Callable[[Sequence[JsonObject], GroupVersion], Awaitable[list[JsonObject]]]
"""Takes objects of any versions, and a version; returns them in that version and the same order.

Raises ConversionFailed if the conversion webhook fails."""


class ConversionFailed(StatusError):
    """A webhook did not convert objects; the message says why."""

    def __init__(self, message: str) -> None:
        super().__init__(500, "", message)


def _keep(obj: JsonObject) -> None:
    return None


def _same(obj: JsonObject, source: GroupVersion, target: GroupVersion) -> JsonObject:
    """The conversion between versions that differ in nothing but their names (a CRD's conversion strategy None)."""
    return obj if source == target else {**obj, "apiVersion": target.api_version}


def _generic(subresource: str) -> Strategy:
    return Strategy()


@dataclass(frozen=True, eq=False)
class Version:
    """One version of a kind: its schema, its defaults, and all else that differs between the versions of a kind."""

    gvk: GroupVersionKind
    make_type: Callable[[], Type]  # called once, when the type is first needed
    served: bool = True
    warning: str = ""  # in every answer, if the version is deprecated
    default: Callable[[JsonObject], None] = _keep  # sets defaults in an object, in place
    default_applied: Callable[[JsonObject], None] | None = None  # `default` for the result of a server-side apply
    default_stored: Callable[[JsonObject], None] | None = None  # `default` for an object that is read from etcd
    # changes an object, in place, as the conversion to Go's internal type does; it raises DecodeError
    read_internal: Callable[[JsonObject], None] | None = None
    annotated_fields: Callable[[], frozenset[str]] = frozenset  # annotations that are fields of Go's internal type
    selectable: Selectable = DEFAULT
    columns: tuple[JsonObject, ...] = ()  # additionalPrinterColumns of a CRD
    openapi: JsonObject | None = None  # the schema of a CRD; the catalog has those of built-in kinds
    subresources: JsonObject = field(default_factory=dict)  # of a CRD: status, scale
    strategies: Callable[[str], Strategy] | None = None  # by subresource, if each version has rules of its own

    @property
    def api_version(self) -> str:
        return self.gvk.api_version

    @cached_property
    def type(self) -> Type:
        """The schema."""
        return self.make_type()

    @cached_property
    def order(self) -> Order | None:
        """Puts the members of an object in the order in which they are written; None if there is nothing to do."""
        return orderer(self.type)

    def decode(self, value: JsonObject, report: DecodeReport) -> JsonObject:
        """Decodes an object, without defaults; `report` collects unknown and duplicate fields. Raises DecodeError."""
        return decode(self.type, value, report)


@dataclass(frozen=True, eq=False)
class Model:
    """A kind. Group and plural are those of its storage: the group of Event is core, whichever group serves it."""

    group: str
    plural: str
    kind: str
    namespaced: bool
    storage_version: GroupVersion
    versions: Mapping[GroupVersion, Version]  # served ones and the storage version, in the order of discovery
    storage_prefix: str = ""  # below --etcd-prefix, the same as kube-apiserver's; empty if objects are never stored
    list_kind: str = ""
    singular: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    strategies: Callable[[str], Strategy] = _generic  # by subresource, "" for the resource itself
    on_read: Callable[[JsonObject], None] = _keep  # completes an object of the storage version, in place
    convert: ConvertObject = _same
    convert_all: ConvertAll | None = None  # used in the place of `convert` if a webhook converts
    canonicaliser: Callable[[Model], Canonicalise] = canonicaliser
    outdated: IsOutdated | None = None  # finds canonical values of other minors that are read otherwise; None: none
    since: int = 0  # the revision of a CRD's model: no watch starts before it
    settled: KnownCanonical | None = None  # for kinds whose stored values are read with the current schema
    written_as_served: bool = False  # whether writes follow the rules of the request's version, not of the stored one
    field_values: Mapping[str, FieldValue] = field(default_factory=dict)  # selectable fields beyond metadata
    announced_version: Callable[[], str] | None = None  # the version whose hash discovery shows; None: the stored one

    @property
    def group_resource(self) -> GroupResource:
        return GroupResource(self.group, self.plural)

    @cached_property
    def canonicalise(self) -> Canonicalise:
        """Turns a stored value, by any writer, into the canonical one. It raises ValueError for an unreadable value."""
        return self.canonicaliser(self)

    @property
    def stored(self) -> Version:
        """The storage version."""
        return self.versions[self.storage_version]

    def strategy(self, subresource: str = "") -> Strategy:
        """The strategy of the resource or of a subresource."""
        return self.strategies(subresource)

    @cached_property
    def labels_and_fields_of(self) -> LabelsAndFieldsOf:
        """Reads the labels and selectable fields of a stored object."""
        return labels_and_fields_of(self.field_values)
