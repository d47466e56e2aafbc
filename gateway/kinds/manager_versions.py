"""The versions in entries of managedFields, among them versions that their kind no longer has."""

from __future__ import annotations

from gateway.kinds.identity import GroupVersion
from gateway.kinds.model import Version
from gateway.kinds.resource import Resource


def version_of_manager(resource: Resource, api_version: str) -> Version | None:
    """The version in which a manager owns fields of an object.

    None for one that a built-in kind does not have in the group in which it is written: such managers are forgotten.
    Raises ValueError where kube-apiserver can't tell anything of any manager: for what is no apiVersion, and for a
    version that is not in a custom kind's definition.
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
