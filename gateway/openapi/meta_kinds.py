"""The groups and versions in which OpenAPI documents say DeleteOptions and WatchEvent to be kinds.

A type of meta/v1 is a kind of every version that is registered where a document is made, served or not. Source: the
documents of a kube-apiserver 1.36.3.
"""

from __future__ import annotations

from gateway.jsontypes import JsonObject

Versions = tuple[tuple[str, str], ...]  # groups and versions

CORE: Versions = (("", "v1"),)
_CLIENTS = """
    v1
    admissionregistration.k8s.io/v1,v1alpha1,v1beta1
    apps/v1,v1beta1,v1beta2
    authentication.k8s.io/v1,v1alpha1,v1beta1
    authorization.k8s.io/v1,v1beta1
    autoscaling/v1,v2
    batch/v1,v1beta1
    certificates.k8s.io/v1,v1alpha1,v1beta1
    coordination.k8s.io/v1,v1alpha2,v1beta1
    discovery.k8s.io/v1,v1beta1
    events.k8s.io/v1,v1beta1
    extensions/v1beta1
    flowcontrol.apiserver.k8s.io/v1,v1beta1,v1beta2,v1beta3
    internal.apiserver.k8s.io/v1alpha1
    networking.k8s.io/v1,v1beta1
    node.k8s.io/v1,v1alpha1,v1beta1
    policy/v1,v1beta1
    rbac.authorization.k8s.io/v1,v1alpha1,v1beta1
    resource.k8s.io/v1,v1alpha3,v1beta1,v1beta2
    scheduling.k8s.io/v1,v1alpha2,v1beta1
    storage.k8s.io/v1,v1alpha1,v1beta1
    storagemigration.k8s.io/v1beta1
"""
_SERVERS = """
    admission.k8s.io/v1,v1beta1
    apiextensions.k8s.io/v1,v1beta1
    apiregistration.k8s.io/v1,v1beta1
    imagepolicy.k8s.io/v1alpha1
"""


def _versions(text: str) -> list[tuple[str, str]]:
    found = (line.rpartition("/") for line in text.split())
    return [(group, version) for group, _, versions in found for version in versions.split(",")]


OF_DEFINITIONS: Versions = tuple(_versions(_CLIENTS))
"""Those that documents of CRDs' versions name: what clients know."""

OF_ALL: Versions = tuple(sorted(_versions(_CLIENTS + _SERVERS)))
"""Those that the one document of version 2 names."""


def of_version(group: str, version: str) -> Versions:
    """The group versions that the document of a built-in group version names: its own, and the core's."""
    return (*CORE, (group, version)) if group else CORE


def kinds_of(name: str, versions: Versions) -> list[JsonObject]:
    """The kinds of that name, as documents list them."""
    return [{"group": group, "kind": name, "version": version} for group, version in versions]
