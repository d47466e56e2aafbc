"""What is served: one `Resource` per group, version and plural."""

from __future__ import annotations

from dataclasses import dataclass

from gateway.kinds.identity import GroupVersion, GroupVersionKind, GroupVersionResource
from gateway.kinds.model import Model, Version
from gateway.kinds.strategy import Strategy
from gateway.schema.catalog import type_for, type_name_for
from gateway.schema.types import Type


@dataclass(frozen=True, slots=True)
class Resource:
    """A served resource, or a subresource of one (then `subresource` is its name and `resource` its parent's)."""

    model: Model  # of the kind whose objects are in the collection; a subresource's is its parent's
    group: str
    version: str
    resource: str  # plural: "pods"
    kind: str  # "Pod"; for a subresource the kind that it takes and answers ("Scale")
    kind_group: str  # group and version of that kind ("autoscaling", "v1" for a Scale)
    kind_version: str
    verbs: frozenset[str]
    subresource: str = ""

    @property
    def gvr(self) -> GroupVersionResource:
        """What names it, apart from the subresource."""
        return GroupVersionResource(self.group, self.version, self.resource)

    @property
    def gvk(self) -> GroupVersionKind:
        """The kind that it takes and answers."""
        return GroupVersionKind(self.kind_group, self.kind_version, self.kind)

    @property
    def api_version(self) -> str:
        """The apiVersion of the kind served here: "v1", "apps/v1"."""
        return f"{self.kind_group}/{self.kind_version}" if self.kind_group else self.kind_version

    @property
    def qualified(self) -> str:
        """plural.group, as messages have it: "deployments.apps", "pods"."""
        return f"{self.resource}.{self.group}" if self.group else self.resource

    @property
    def model_version(self) -> Version:
        """The version of the model that is served here."""
        return self.model.versions[GroupVersion(self.group, self.version)]

    @property
    def foreign_kind(self) -> bool:
        """Whether its kind is of another group or version, as that of scale: discovery tells which."""
        return (self.kind_group, self.kind_version) != (self.group, self.version)

    @property
    def type(self) -> Type:
        """The schema of the kind that it takes and answers."""
        own = self.model_version
        return own.type if own.gvk == self.gvk else type_for(*self.gvk)

    @property
    def type_name(self) -> str:
        """That schema's name in the catalog ("io.k8s.api.core.v1.Pod"). Raises KeyError for a custom kind."""
        return type_name_for(*self.gvk)

    @property
    def strategy(self) -> Strategy:
        """The rules of its writes."""
        return self.model.strategy(self.subresource)

    @property
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

    @property
    def storage_prefix(self) -> str:
        """Where its objects are, below --etcd-prefix: "pods", "services/specs"; empty for what is not stored."""
        return self.model.storage_prefix

    @property
    def storage_version(self) -> str:
        """The apiVersion in which etcd holds its objects ("v1", "autoscaling/v2"); empty for what is not stored."""
        return self.model.storage_version.api_version if self.model.storage_prefix else ""
