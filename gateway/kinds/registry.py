"""The served resources: built-in ones from the catalog, and those that are added while running (custom resources).

`Registry.resources` is what a request looks itself up in; groups and versions are kept in the order in which
discovery shows them, the preferred version first (API Concepts, "Discovery API").
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from gateway.kinds.resource import Resource
from gateway.schema.catalog import document, type_name_for

Key = tuple[str, str, str, str]  # group, version, plural, subresource ("" for the resource itself)

# Where kube-apiserver keeps what is not under its plural.
STORAGE_PREFIXES = {
    ("", "replicationcontrollers"): "controllers",
    ("", "endpoints"): "services/endpoints",
    ("", "nodes"): "minions",
    ("", "services"): "services/specs",
    ("networking.k8s.io", "ingresses"): "ingress",
}
_PREFIXED_BY_GROUP = frozenset({"apiextensions.k8s.io", "apiregistration.k8s.io"})

# Resources whose versions share storage, or are stored in another group's version.
STORAGE_VERSIONS = {
    ("autoscaling", "horizontalpodautoscalers"): "autoscaling/v2",
    ("events.k8s.io", "events"): "v1",
}
# kube-apiserver 1.36 stores these in an older version, of which discovery tells only the hash; it reads both.
_HASHED_AS_V1BETA1 = frozenset(
    {"customresourcedefinitions", "mutatingadmissionpolicies", "mutatingadmissionpolicybindings"}
)


@dataclass(slots=True)
class Registry:
    """All served resources. Changes are made by `add` and `remove` on the event loop; readers never see half of one."""

    resources: dict[Key, Resource] = field(default_factory=dict)
    groups: dict[str, list[str]] = field(default_factory=dict)  # group -> versions, preferred first
    _of_version: dict[tuple[str, str], tuple[Resource, ...]] = field(default_factory=dict)
    _of_kind: dict[tuple[str, str, str], Resource] = field(default_factory=dict)

    def get(self, group: str, version: str, resource: str, subresource: str = "") -> Resource | None:
        return self.resources.get((group, version, resource, subresource))

    def by_kind(self, group: str, version: str, kind: str) -> Resource | None:
        """The resource, not a subresource, whose objects are of a kind."""
        return self._of_kind.get((group, version, kind))

    def of_version(self, group: str, version: str) -> tuple[Resource, ...]:
        """What a group's version serves, each resource followed by its subresources, in discovery order."""
        return self._of_version.get((group, version), ())

    def preferred(self, group: str, resource: str) -> Resource | None:
        """The resource in the first of its group's versions that serves it."""
        found = (self.get(group, version, resource) for version in self.groups.get(group, ()))
        return next((each for each in found if each), None)

    def stored(self) -> Iterator[Resource]:
        """One resource for each storage prefix: that of the storage version where it is served."""
        seen: dict[str, Resource] = {}
        for resource in self.resources.values():
            if resource.storage_prefix and not resource.subresource:
                known = seen.get(resource.storage_prefix)
                if known is None or known.api_version != known.storage_version:
                    seen[resource.storage_prefix] = resource
        yield from seen.values()

    def add(self, resources: Iterable[Resource]) -> None:
        """Serves more resources, or others in the place of those with the same names. New groups come last, by name;
        a group's versions in kube-apiserver's order (v2, v1, v1beta1, v1alpha1, others)."""
        for each in resources:
            self.resources[each.group, each.version, each.resource, each.subresource] = each
            versions = self.groups.setdefault(each.group, [])
            if each.version not in versions:
                versions.append(each.version)
                versions.sort(key=version_priority)
            if not each.subresource:
                self._of_kind[each.group, each.version, each.kind] = each
            same_version = [r for r in self.of_version(each.group, each.version) if _name(r) != _name(each)]
            self._of_version[each.group, each.version] = tuple(sorted([*same_version, each], key=_name))

    def remove(self, group: str, version: str, resource: str) -> None:
        """Stops serving a resource and its subresources; nothing happens when it isn't served."""
        left = tuple(each for each in self.of_version(group, version) if each.resource != resource)
        for each in self.of_version(group, version):
            if each.resource == resource:
                del self.resources[group, version, resource, each.subresource]
                self._of_kind.pop((group, version, each.kind), None)
        if left:
            self._of_version[group, version] = left
        elif self._of_version.pop((group, version), None):
            self.groups[group].remove(version)
            if not self.groups[group]:
                del self.groups[group]


def builtin_registry() -> Registry:
    """A registry of the catalog's resources."""
    registry = Registry()
    for group in document()["groups"]:
        name = group["name"]
        registry.groups[name] = [version["version"] for version in group["versions"]]
        for version in group["versions"]:
            served = tuple(
                each for entry in version["resources"] for each in _from_catalog(name, version["version"], entry)
            )
            registry._of_version[name, version["version"]] = served
            for each in served:
                registry.resources[each.group, each.version, each.resource, each.subresource] = each
                if not each.subresource:
                    registry._of_kind[name, each.version, each.kind] = each
    return registry


def storage_version_hash(resource: Resource) -> str:
    """What discovery tells clients to notice a change of storage version by; empty for what isn't stored."""
    if not resource.storage_prefix or resource.subresource:
        return ""
    group, _, version = resource.storage_version.rpartition("/")
    if resource.resource in _HASHED_AS_V1BETA1:
        version = "v1beta1"
    return b64encode(sha256(f"{group}/{version}/{resource.kind}".encode()).digest()[:8]).decode()


_version_parts = re.compile(r"v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?").fullmatch


def version_priority(version: str) -> tuple[Any, ...]:
    """A sort key that puts versions as Kubernetes does: stable before beta before alpha, newer first, then the rest."""
    parts = _version_parts(version)
    if parts is None:
        return 1, version
    return 0, {None: 0, "beta": 1, "alpha": 2}[parts[2]], -int(parts[1]), -int(parts[3] or 0)


def _name(resource: Resource) -> tuple[str, str]:
    return resource.resource, resource.subresource


def _from_catalog(group: str, version: str, entry: dict[str, Any]) -> Iterator[Resource]:
    plural = entry["name"]
    stored = "create" in entry["verbs"] and "list" in entry["verbs"]
    own_prefix = f"{group}/{plural}" if group in _PREFIXED_BY_GROUP else plural
    own_version = f"{group}/{version}" if group else version
    for each in ({**entry, "name": ""}, *entry.get("subresources", ())):
        kind_group, kind_version, kind = _kind(each["kind"], group, version)
        yield Resource(
            group=group,
            version=version,
            resource=plural,
            subresource=each["name"],
            kind=kind,
            kind_group=kind_group,
            kind_version=kind_version,
            namespaced=entry["namespaced"],
            verbs=frozenset(each["verbs"]),
            singular=each.get("singular", ""),
            short_names=tuple(each.get("shortNames", ())),
            categories=tuple(each.get("categories", ())),
            type_name=type_name_for(kind_group, kind_version, kind),
            storage_prefix=STORAGE_PREFIXES.get((group, plural), own_prefix) if stored else "",
            storage_version=STORAGE_VERSIONS.get((group, plural), own_version) if stored else "",
        )


def _kind(written: str, group: str, version: str) -> tuple[str, str, str]:
    """Group, version and kind of a catalog entry's kind: "Pod", or "autoscaling/v1/Scale" for another group's."""
    if "/" not in written:
        return group, version, written
    kind_group, kind_version, kind = written.split("/")
    return kind_group, kind_version, kind
