"""Which built-in resources are served to clients: all except those that --runtime-config switches off, and the beta
versions that it switches on.

The server itself still uses resources that are switched off: it reads and writes roles, leases and namespaces.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from gateway.kinds.builtin import early_versions
from gateway.kinds.registry import Registry
from gateway.release.early_versions import EARLY
from gateway.release.release import Release

Key = tuple[str, str, str]  # group, version, plural

_STAGES = {
    "api/all": re.compile(r".*"),
    "api/ga": re.compile(r"v\d+"),
    "api/beta": re.compile(r"v\d+beta\d+"),
    "api/alpha": re.compile(r"v\d+alpha\d+"),
}
# versions that kube-apiserver has, off by default. This server has only those of `early_versions`
_NOT_HERE: Mapping[str, tuple[str, ...]] = {
    "admissionregistration.k8s.io": ("v1beta1", "v1alpha1"),
    "apps": ("v1beta2", "v1beta1"),
    "authentication.k8s.io": ("v1beta1", "v1alpha1"),
    "authorization.k8s.io": ("v1beta1",),
    "batch": ("v1beta1",),
    "certificates.k8s.io": ("v1beta1", "v1alpha1"),
    "coordination.k8s.io": ("v1beta1", "v1alpha2"),
    "discovery.k8s.io": ("v1beta1",),
    "events.k8s.io": ("v1beta1",),
    "extensions": ("v1beta1",),
    "flowcontrol.apiserver.k8s.io": ("v1beta3", "v1beta2", "v1beta1"),
    "imagepolicy.k8s.io": ("v1alpha1",),
    "internal.apiserver.k8s.io": ("v1alpha1",),
    "networking.k8s.io": ("v1beta1",),
    "node.k8s.io": ("v1beta1", "v1alpha1"),
    "policy": ("v1beta1",),
    "rbac.authorization.k8s.io": ("v1beta1", "v1alpha1"),
    "resource.k8s.io": ("v1beta2", "v1beta1", "v1alpha3"),
    "scheduling.k8s.io": ("v1beta1", "v1alpha2"),
    "storage.k8s.io": ("v1beta1", "v1alpha1"),
    "storagemigration.k8s.io": ("v1beta1",),
}


class UnknownApi(ValueError):
    """--runtime-config names an API that kube-apiserver does not have, or that cannot be switched on here."""


def is_elsewhere(key: str, release: Release) -> bool:
    """Whether `key`, a group/version or group/version/resource, is a version that only kube-apiserver has."""
    group, version, resource = (*key.split("/", 2), "", "")[:3]
    return version in _NOT_HERE.get(group, ()) and not _is_early(early_versions(release), (group, version, resource))


def switched_on(release: Release, overrides: Sequence[tuple[str, bool]]) -> frozenset[tuple[str, str]]:
    """The groups and versions of `early_versions` of which `overrides` switch on a resource, and those that they are
    like: objects are stored in these, served or not.
    """
    said = dict(overrides)
    if not any(said.values()):
        return frozenset()
    found = early_versions(release)
    on = {place for place, plurals in found.items() if any(_serves((*place, each), said) for each in plurals)}
    return frozenset(on | {(place[0], EARLY[place].like) for place in on} & EARLY.keys())


def switched_off(registry: Registry, overrides: Sequence[tuple[str, bool]]) -> frozenset[Key]:
    """The resources that `overrides` switch off. Raises UnknownApi.

    An override of a resource wins over one of its version, and that wins over one of a stage ("api/beta").
    """
    said = dict(overrides)
    _check(registry, said)
    off = set[Key]()
    for key in {each[:3] for each in registry.resources}:
        if not _serves(key, said):
            off.add(key)
    return frozenset(off)


def _serves(key: Key, said: Mapping[str, bool]) -> bool:
    group, version, resource = key
    on = (group, version) not in EARLY
    for stage, of in _STAGES.items():
        if stage in said and of.fullmatch(version):
            on = said[stage]
    on = said.get(f"{group}/{version}", on)
    return said.get(f"{group}/{version}/{resource}", on)


def _is_early(found: Mapping[tuple[str, str], frozenset[str]], key: Key) -> bool:
    """Whether `key` is a beta version in `found`, or a resource of one; its plural is "" for a version."""
    plurals = found.get(key[:2], frozenset())
    return key[2] in plurals if key[2] else bool(plurals)


def _check(registry: Registry, said: Mapping[str, bool]) -> None:
    places = [(key, *(*key.split("/", 2), "")[:3]) for key in said if key not in _STAGES]
    unknown = {f"{group}/{version}".lstrip("/") for _, group, version, _ in places if not _is_known(registry, group)}
    if unknown:
        raise UnknownApi(f"unknown api groups {','.join(sorted(unknown))}")
    found = early_versions(registry.release)
    for key, group, version, resource in places:
        if _is_early(found, (group, version, resource)):
            continue
        if version in registry.groups.get(group, ()) and (group, version) not in found:
            continue
        if version not in _NOT_HERE.get(group, ()):
            named = f"{group}/{version}".lstrip("/")
            raise UnknownApi(f"group version {named} that has not been registered")
        if said[key]:
            raise UnknownApi(f"{key} cannot be switched on: this server does not have it")


def _is_known(registry: Registry, group: str) -> bool:
    return group in registry.groups or group in _NOT_HERE
