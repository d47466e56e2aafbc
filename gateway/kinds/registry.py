"""The served resources: built-in ones, and those that are added at run time (custom resources).

A request is looked up in `Registry.resources`. Groups and versions have the order of discovery, the preferred version
first (API Concepts, "Discovery API").
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from gateway.kinds.identity import GroupVersionResource
from gateway.kinds.resource import Resource
from gateway.release.minors import version_priority
from gateway.release.release import Release, release_of

Key = tuple[str, str, str, str]  # group, version, plural, subresource ("" for the resource itself)


@dataclass(slots=True)
class Registry:
    """All served resources. They change only on the event loop, in one step: no reader sees half a change."""

    resources: dict[Key, Resource] = field(default_factory=dict)
    groups: dict[str, list[str]] = field(default_factory=dict)  # group -> versions, preferred first
    release: Release = field(default_factory=release_of)
    unserved: frozenset[tuple[str, str, str]] = frozenset()  # served to the server itself only: group, version, plural
    _of_version: dict[tuple[str, str], tuple[Resource, ...]] = field(default_factory=dict)
    _of_kind: dict[tuple[str, str, str], Resource] = field(default_factory=dict)
    _of_prefix: dict[str, int] = field(default_factory=dict)  # how many of `resources` have a storage prefix
    _builtin: frozenset[str] | None = None  # computed at the first use, until resources are added

    def copy(self, release: Release | None = None) -> Registry:
        """An independent copy, with another `release` if one is given (other values of feature gates)."""
        groups = {group: list(versions) for group, versions in self.groups.items()}
        tables = self._of_version.copy(), self._of_kind.copy(), self._of_prefix.copy()
        return Registry(
            self.resources.copy(), groups, release or self.release, self.unserved, *tables, self.builtin_groups()
        )

    def builtin_groups(self) -> frozenset[str]:
        """The groups that have kinds without a CRD."""
        if self._builtin is None:
            self._builtin = frozenset(each.group for each in self.resources.values() if _is_builtin(each))
        return self._builtin

    def get(self, group: str, version: str, resource: str, subresource: str = "") -> Resource | None:
        return self.resources.get((group, version, resource, subresource))

    def by_kind(self, group: str, version: str, kind: str) -> Resource | None:
        """The resource of a kind; never a subresource."""
        return self._of_kind.get((group, version, kind))

    def kinds(self) -> Iterator[tuple[tuple[str, str, str], str]]:
        """Yields all resources without subresources: (group, version, plural) and the kind."""
        for (group, version, kind), resource in self._of_kind.items():
            yield (group, version, resource.resource), kind

    def of_version(self, group: str, version: str) -> tuple[Resource, ...]:
        """The resources of a version, each followed by its subresources, in discovery order."""
        return self._of_version.get((group, version), ())

    def preferred(self, group: str, resource: str) -> Resource | None:
        """The resource in the first version of its group that serves it. Resources that are switched off come last."""
        found = (self.get(group, version, resource) for version in self.groups.get(group, ()))
        first = next((each for each in found if each), None)
        if first is None and self.unserved:
            return next((each for key, each in self.resources.items() if key[::2] == (group, resource)), None)
        return first

    def stored(self) -> Iterator[Resource]:
        """One resource for each storage prefix: that of the storage version, if it is served."""
        seen: dict[str, Resource] = {}
        for resource in self.resources.values():
            if resource.storage_prefix and not resource.subresource:
                known = seen.get(resource.storage_prefix)
                if known is None or known.api_version != known.storage_version:
                    seen[resource.storage_prefix] = resource
        yield from seen.values()

    def add(self, resources: Iterable[Resource]) -> None:
        """Adds resources, or replaces those with the same names. A new group comes last. The versions of a group have
        kube-apiserver's order (v2, v1, v1beta1, v1alpha1, others)."""
        added: dict[tuple[str, str], dict[tuple[str, int, str], Resource]] = {}
        for each in resources:
            self._enter(each)
            added.setdefault((each.group, each.version), {})[_name(each)] = each
        for (group, version), new in added.items():
            served = {_name(each): each for each in self.of_version(group, version)} | new
            self._of_version[group, version] = tuple(served[name] for name in sorted(served))
        grown: dict[str, dict[str, None]] = {}
        for group, version in added:
            grown.setdefault(group, dict.fromkeys(self.groups.get(group, ())))[version] = None
        for group, versions in grown.items():
            self.groups[group] = sorted(versions, key=version_priority)

    def add_version(self, group: str, version: str, resources: Iterable[Resource]) -> None:
        """Adds a version with its resources, in the given order. It comes after the group's other versions."""
        served = self._of_version[group, version] = tuple(resources)
        self.groups.setdefault(group, []).append(version)
        for each in served:
            self._enter(each)

    def switch_off(self, resources: frozenset[tuple[str, str, str]]) -> None:
        """Stops serving resources (group, version, plural) to clients: requests for them get 404, and discovery and
        OpenAPI leave them out. Resources that are switched off already stay switched off.
        """
        resources, self.unserved = resources - self.unserved, self.unserved | resources
        for group, version in {each[:2] for each in resources}:
            left = tuple(each for each in self.of_version(group, version) if each.gvr not in resources)
            self._of_version[group, version] = left
            if not left:
                self.groups[group].remove(version)
        for group in {each[0] for each in resources if not self.groups[each[0]]}:
            del self.groups[group]

    def stores(self, prefix: str) -> bool:
        """Whether a resource has its objects at a storage prefix."""
        return prefix in self._of_prefix

    def _enter(self, each: Resource) -> None:
        key = each.group, each.version, each.resource, each.subresource
        if key in self.resources:
            self._leave(key)
        self.resources[key] = each
        self._builtin = None
        self._of_prefix[each.storage_prefix] = self._of_prefix.get(each.storage_prefix, 0) + 1
        if not each.subresource:
            self._of_kind[each.group, each.version, each.kind] = each

    def _leave(self, key: Key) -> None:
        prefix = self.resources.pop(key).storage_prefix
        self._builtin = None
        self._of_prefix[prefix] -= 1
        if not self._of_prefix[prefix]:
            del self._of_prefix[prefix]

    def remove(self, resources: Iterable[GroupVersionResource]) -> None:
        """Removes resources and their subresources; those that are not served are ignored."""
        going: dict[tuple[str, str], set[str]] = {}
        for group, version, resource in resources:
            going.setdefault((group, version), set()).add(resource)
        emptied: dict[str, set[str]] = {}
        for (group, version), names in going.items():
            left: list[Resource] = []
            for each in self.of_version(group, version):
                if each.resource in names:
                    self._leave((group, version, each.resource, each.subresource))
                    self._of_kind.pop((group, version, each.kind), None)
                else:
                    left.append(each)
            if left:
                self._of_version[group, version] = tuple(left)
            elif self._of_version.pop((group, version), None):
                emptied.setdefault(group, set()).add(version)
        for group, versions in emptied.items():
            self.groups[group] = [version for version in self.groups[group] if version not in versions]
            if not self.groups[group]:
                del self.groups[group]


def _is_builtin(resource: Resource) -> bool:
    return resource.model_version.openapi is None


_SUBRESOURCES = {"": 0, "status": 1, "scale": 2}


def _name(resource: Resource) -> tuple[str, int, str]:
    return resource.resource, _SUBRESOURCES.get(resource.subresource, len(_SUBRESOURCES)), resource.subresource
