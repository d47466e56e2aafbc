"""What is served: one `Resource` per group, version and plural."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class GroupVersionResource(NamedTuple):
    """The identity of a served resource; the core group is the empty string."""

    group: str
    version: str
    resource: str


@dataclass(frozen=True, slots=True)
class Resource:
    """A served resource, or a subresource of one (then `subresource` is its name and `resource` its parent's)."""

    group: str
    version: str
    resource: str  # plural: "pods"
    kind: str  # "Pod"; for a subresource the kind that it takes and answers ("Scale")
    kind_group: str  # group and version of that kind ("autoscaling", "v1" for a Scale)
    kind_version: str
    namespaced: bool
    verbs: frozenset[str]
    singular: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresource: str = ""
    type_name: str = ""  # its schema in the catalog: "io.k8s.api.core.v1.Pod"
    storage_prefix: str = ""  # below --etcd-prefix, as kube-apiserver lays it out: "pods", "services/specs"
    storage_version: str = ""  # the apiVersion in which etcd holds it ("v1", "autoscaling/v2")

    @property
    def api_version(self) -> str:
        """The apiVersion of the kind served here: "v1", "apps/v1"."""
        return f"{self.kind_group}/{self.kind_version}" if self.kind_group else self.kind_version

    @property
    def qualified(self) -> str:
        """plural.group, as messages have it: "deployments.apps", "pods"."""
        return f"{self.resource}.{self.group}" if self.group else self.resource
