"""The group versions that OpenAPI documents list as those of the kinds DeleteOptions and WatchEvent.

A document is made from a Go scheme. These types of meta/v1 are kinds of every group version in the scheme, even of
those that are not served. Releases differ in some groups of the client's scheme. Source: kube-apiserver's documents.
"""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.release.client_versions import client_versions
from gateway.release.release import Release

Versions = tuple[tuple[str, str], ...]  # groups and versions

CORE: Versions = (("", "v1"),)
_CLIENTS = """
    v1
    admissionregistration.k8s.io/v1,v1alpha1,v1beta1
    apps/v1,v1beta1,v1beta2
    authentication.k8s.io/v1,v1alpha1,v1beta1
    authorization.k8s.io/v1,v1beta1
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
    storage.k8s.io/v1,v1alpha1,v1beta1
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


def of_definitions(release: Release) -> Versions:
    """The group versions in documents of CRDs: those of the client scheme."""
    return tuple(sorted((*_versions(_CLIENTS), *client_versions(release.binary))))


def of_all(release: Release) -> Versions:
    """The group versions in the OpenAPI v2 document."""
    return tuple(sorted((*of_definitions(release), *_versions(_SERVERS))))


def of_version(group: str, version: str) -> Versions:
    """The group versions in the document of a built-in group version: the core's v1 and its own."""
    return (*CORE, (group, version)) if group else CORE


def kinds_of(name: str, versions: Versions) -> list[JsonObject]:
    """The entries of x-kubernetes-group-version-kind for a kind in these group versions."""
    return [{"group": group, "kind": name, "version": version} for group, version in versions]
