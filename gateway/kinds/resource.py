"""A served resource: one `Resource` per group, version and plural."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from gateway.defaults import apply_defaults
from gateway.jsontypes import JsonObject
from gateway.kinds.identity import GroupVersion, GroupVersionKind, GroupVersionResource
from gateway.kinds.model import Model, Version
from gateway.kinds.strategy import Strategy
from gateway.schema.catalog import type_for, type_name_for
from gateway.schema.types import Type


@dataclass(frozen=True)
class Resource:
    """A served resource, or a subresource of one (then `subresource` is its name and `resource` its parent's).

    Values that follow from the fields are computed once: every request needs them.
    """

    model: Model  # of the kind whose objects are in the collection; a subresource's is its parent's
    group: str
    version: str
    resource: str  # plural: "pods"
    kind: str  # of the objects in requests and answers: "Pod", or "Scale" for a subresource
    kind_group: str  # group and version of that kind ("autoscaling", "v1" for a Scale)
    kind_version: str
    verbs: frozenset[str]
    subresource: str = ""
    shown_verbs: tuple[str, ...] = ()  # the verbs in discovery, in this order; if empty, all verbs, sorted

    @property
    def discovered_verbs(self) -> list[str]:
        """The verbs that discovery shows."""
        return list(self.shown_verbs) or sorted(self.verbs)

    @cached_property
    def gvr(self) -> GroupVersionResource:
        """Group, version and plural; without the subresource."""
        return GroupVersionResource(self.group, self.version, self.resource)

    @cached_property
    def gvk(self) -> GroupVersionKind:
        """The kind of the objects in requests and answers."""
        return GroupVersionKind(self.kind_group, self.kind_version, self.kind)

    @cached_property
    def api_version(self) -> str:
        """The apiVersion of the kind served here: "v1", "apps/v1"."""
        return f"{self.kind_group}/{self.kind_version}" if self.kind_group else self.kind_version

    def is_internal(self, api_version: str) -> bool:
        """Whether `api_version` names the internal version of the kind's group."""
        return api_version == (f"{self.kind_group}/__internal" if self.kind_group else "__internal")

    @cached_property
    def qualified(self) -> str:
        """plural.group, as in messages: "deployments.apps", "pods"."""
        return f"{self.resource}.{self.group}" if self.group else self.resource

    @cached_property
    def model_version(self) -> Version:
        """The version of the model that is served here."""
        return self.model.versions[GroupVersion(self.group, self.version)]

    @cached_property
    def foreign_kind(self) -> bool:
        """Whether its kind has another group or version, as the kind of scale has. Discovery then shows them."""
        return (self.kind_group, self.kind_version) != (self.group, self.version)

    @cached_property
    def type(self) -> Type:
        """The schema of the objects in requests and answers."""
        own = self.model_version
        return own.type if own.gvk == self.gvk else type_for(*self.gvk)

    def default(self, obj: JsonObject, *, applied: bool = False) -> None:
        """Sets the defaults of an object, in place; `applied` is true for the result of a server-side apply."""
        own = self.model_version
        if own.gvk == self.gvk:
            default = own.default_applied if applied else None
            (default or own.default)(obj)
        else:
            apply_defaults(self.api_version, self.kind, obj)

    @cached_property
    def read_internal(self) -> Callable[[JsonObject], None] | None:
        """Changes an object, in place, as the conversion to Go's internal type does. It raises DecodeError."""
        own = self.model_version
        return own.read_internal if own.gvk == self.gvk else None

    @cached_property
    def custom(self) -> bool:
        """Whether a CustomResourceDefinition defines its kind."""
        own = self.model_version
        return own.openapi is not None and own.gvk == self.gvk

    @cached_property
    def defined(self) -> bool:
        """Whether a CustomResourceDefinition defines the kind of the objects at its path, also for subresources."""
        return self.model_version.openapi is not None

    @cached_property
    def type_name(self) -> str:
        """The name of `type` in the catalog ("io.k8s.api.core.v1.Pod"). Raises KeyError for a custom kind."""
        return type_name_for(*self.gvk)

    @cached_property
    def strategy(self) -> Strategy:
        """The strategy of this resource or subresource."""
        return self._strategies(self.subresource)

    @cached_property
    def object_strategy(self) -> Strategy:
        """The strategy of the resource itself, also if this is a subresource."""
        return self._strategies("")

    @property
    def _strategies(self) -> Callable[[str], Strategy]:
        return self.model_version.strategies or self.model.strategies

    @cached_property
    def namespaced(self) -> bool:
        return self.model.namespaced

    @property
    def singular(self) -> str:
        return "" if self.subresource else self.model.singular

    @property
    def short_names(self) -> tuple[str, ...]:
        return () if self.subresource else self.model.short_names

    @property
    def categories(self) -> tuple[str, ...]:
        return () if self.subresource else self.model.categories

    @cached_property
    def storage_prefix(self) -> str:
        """The prefix of its objects in etcd, below --etcd-prefix: "pods", "services/specs"; empty if not stored."""
        return self.model.storage_prefix

    @cached_property
    def storage_version(self) -> str:
        """The apiVersion of its objects in etcd ("v1", "autoscaling/v2"); empty if they are not stored."""
        return self.model.storage_version.api_version if self.model.storage_prefix else ""
