"""How kinds and resources are named: by group, version and kind, or by group, version and plural.

The core group is the empty string (API Concepts, "Resource URIs"; API Conventions, "Types (Kinds)").
"""

from __future__ import annotations

from typing import NamedTuple


class GroupVersion(NamedTuple):
    """A version of an API group."""

    group: str
    version: str

    @property
    def api_version(self) -> str:
        """The apiVersion in objects: "v1", "apps/v1"."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def __str__(self) -> str:
        return self.api_version

    @classmethod
    def parse(cls, api_version: str) -> GroupVersion:
        """The group and version of an apiVersion; the group is the part before the last slash."""
        group, _, version = api_version.rpartition("/")
        return cls(group, version)


class GroupResource(NamedTuple):
    """A resource, whatever its version."""

    group: str
    resource: str

    def __str__(self) -> str:
        """plural.group, as in messages: "deployments.apps", "pods"."""
        return f"{self.resource}.{self.group}" if self.group else self.resource


class GroupVersionKind(NamedTuple):
    """The identity of a kind of objects."""

    group: str
    version: str
    kind: str

    @property
    def group_version(self) -> GroupVersion:
        return GroupVersion(self.group, self.version)

    @property
    def api_version(self) -> str:
        """The apiVersion in objects: "v1", "apps/v1"."""
        return f"{self.group}/{self.version}" if self.group else self.version


class GroupVersionResource(NamedTuple):
    """The identity of a served resource."""

    group: str
    version: str
    resource: str

    @property
    def group_version(self) -> GroupVersion:
        return GroupVersion(self.group, self.version)

    @property
    def group_resource(self) -> GroupResource:
        return GroupResource(self.group, self.resource)


def core(resource: str) -> GroupVersionResource:
    """A resource of the core group, version v1."""
    return GroupVersionResource("", "v1", resource)
