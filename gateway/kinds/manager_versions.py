"""The versions in managedFields entries, including versions that the kind no longer has."""

from __future__ import annotations

from gateway.kinds.identity import GroupVersion
from gateway.kinds.model import Version
from gateway.kinds.resource import Resource


def version_of_manager(resource: Resource, api_version: str) -> Version | None:
    """The version of a managedFields entry with this apiVersion.

    None for a version that a built-in kind does not have in the resource's group: the entry is dropped. Raises
    ValueError for an invalid apiVersion, and for a version that is not in a custom kind's CRD. For these kube-apiserver
    cannot read any entry of the object.
    """
    if api_version.count("/") > 1:
        raise ValueError(f"unexpected GroupVersion string: {api_version}")
    wanted = GroupVersion.parse(api_version)
    found = resource.model.versions.get(wanted)
    if resource.custom:
        if found is None:
            raise ValueError(f"request to convert CR to an invalid group/version: {wanted}")
        return found
    return found if wanted.group == resource.group else None
