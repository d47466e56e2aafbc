"""All that is known of a kind, in one object.

Built-in models are made from the catalog (`gateway.kinds.builtin`), others from a CustomResourceDefinition. A model
never changes: when a CRD changes, another model takes its place.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from gateway.http.status import StatusError
from gateway.jsontypes import JsonObject
from gateway.kinds.identity import GroupResource, GroupVersion, GroupVersionKind
from gateway.kinds.known_canonical import SettledValues
from gateway.kinds.selectable import FieldValue, labels_and_fields_of
from gateway.kinds.storage_form import canonicaliser
from gateway.kinds.strategy import Strategy
from gateway.schema.decode import DecodeReport, decode
from gateway.schema.order import Order, orderer
from gateway.schema.types import Type
from gateway.selectors.fields import DEFAULT, Selectable
from storage.entry import LabelsAndFieldsOf

ConvertObject = Callable[[JsonObject, GroupVersion, GroupVersion], JsonObject]
"""An object in another version of its kind. Raises ValueError when it can't be converted."""

Canonicalise = Callable[[bytes], bytes]

ConvertAll = Callable[[Sequence[JsonObject], GroupVersion], Awaitable[list[JsonObject]]]
"""Objects of any versions in another one, in their order. Raises ConversionFailed when somebody else fails to do it."""


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
    """One version of a kind: what its objects look like there, and what is said of it."""

    gvk: GroupVersionKind
    make_type: Callable[[], Type]  # called once, when the type is first needed
    served: bool = True
    warning: str = ""  # for every answer: that the version is deprecated
    default: Callable[[JsonObject], None] = _keep  # sets defaults in an object, in place
    default_applied: Callable[[JsonObject], None] | None = None  # the same of what server-side apply has merged
    # what the conversion to Go's own type changes besides, in place; it raises DecodeError
    read_internal: Callable[[JsonObject], None] | None = None
    annotated_fields: Callable[[], frozenset[str]] = frozenset  # annotations that are fields of Go's own type
    selectable: Selectable = DEFAULT
    columns: tuple[JsonObject, ...] = ()  # additionalPrinterColumns of a CRD
    openapi: JsonObject | None = None  # the schema of a CRD; the catalog has those of built-in kinds
    subresources: JsonObject = field(default_factory=dict)  # of a CRD: status, scale
    strategies: Callable[[str], Strategy] | None = None  # where each version has its own rules, by subresource

    @property
    def api_version(self) -> str:
        return self.gvk.api_version

    @cached_property
    def type(self) -> Type:
        """The schema."""
        return self.make_type()

    @cached_property
    def order(self) -> Order | None:
        """What puts members in the order in which they are written."""
        return orderer(self.type)

    def decode(self, value: JsonObject, report: DecodeReport) -> JsonObject:
        """An object as it is after reading it, without defaults. Raises DecodeError."""
        return decode(self.type, value, report)


@dataclass(frozen=True, eq=False)
class Model:
    """A kind. Its identity is that of its collection in storage: an Event's is core, whichever group serves it."""

    group: str
    plural: str
    kind: str
    namespaced: bool
    storage_version: GroupVersion
    versions: Mapping[GroupVersion, Version]  # served ones and the storage version, in the order of discovery
    storage_prefix: str = ""  # below --etcd-prefix, as kube-apiserver lays it out; empty for what is never stored
    list_kind: str = ""
    singular: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    strategies: Callable[[str], Strategy] = _generic  # by subresource, "" for the resource itself
    on_read: Callable[[JsonObject], None] = _keep  # completes an object of the storage version, in place
    convert: ConvertObject = _same
    convert_all: ConvertAll | None = None  # where `convert` can't: a webhook does it
    canonicaliser: Callable[[Model], Canonicalise] = canonicaliser
    since: int = 0  # the revision of a CRD's model: no watch starts before it
    settled: SettledValues | None = None  # of kinds whose stored values are read by the present schema
    written_as_served: bool = False  # whether a write's rules are those of the version that it is made in
    field_values: Mapping[str, FieldValue] = field(default_factory=dict)  # what selectors see beyond metadata

    @property
    def group_resource(self) -> GroupResource:
        return GroupResource(self.group, self.plural)

    @cached_property
    def canonicalise(self) -> Canonicalise:
        """What makes the canonical value of what any writer stored. It raises ValueError for what can't be read."""
        return self.canonicaliser(self)

    @property
    def stored(self) -> Version:
        """The version in which objects are stored."""
        return self.versions[self.storage_version]

    def strategy(self, subresource: str = "") -> Strategy:
        """The rules of writes to the resource or to a subresource."""
        return self.strategies(subresource)

    @cached_property
    def labels_and_fields_of(self) -> LabelsAndFieldsOf:
        """How to read out of a stored object what selectors look at."""
        return labels_and_fields_of(self.field_values)
