"""OwnerReferencesPermissionEnforcement: to change an object's owners, a user must be allowed to delete the object.

To set blockOwnerDeletion, a user must be allowed to update the owner's finalizers.
"""

from __future__ import annotations

from functools import partial

from gateway.access.authorization import asked_of_resource
from gateway.admission.chain import Plugin, PluginParts, PluginReviews
from gateway.admission.record import Admission
from gateway.admission.refusal import refused
from gateway.jsontypes import JsonObject
from gateway.kinds.attributes import Attributes, Operation
from gateway.kinds.resource import Resource
from gateway.validation.field import go_quote

_CANNOT_DELETE = "cannot set an ownerRef on a resource you can't delete"
_CANNOT_FINALIZE = "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on"


def _handles(resource: Resource, operation: Operation) -> bool:
    """All creates and updates but those of pods/status, which cannot change owner references."""
    if operation not in (Operation.CREATE, Operation.UPDATE):
        return False
    return (resource.group, resource.resource, resource.subresource) != ("", "pods", "status")


def _owners(obj: JsonObject | None) -> list[JsonObject]:
    return ((obj or {}).get("metadata") or {}).get("ownerReferences") or []


def _newly_blocking(admission: Admission) -> list[JsonObject]:
    """The owner references with a blockOwnerDeletion that they did not have before."""
    blocking_before = {owner.get("uid") for owner in _owners(admission.old) if owner.get("blockOwnerDeletion")}
    return [
        owner
        for owner in _owners(admission.obj)
        if owner.get("blockOwnerDeletion") and owner.get("uid") not in blocking_before
    ]


async def _validate(parts: PluginParts, admission: Admission) -> None:
    if _owners(admission.obj) == _owners(admission.old):
        return
    if admission.operation is not Operation.CREATE:
        await _require_delete(parts, admission)
    blocking = _newly_blocking(admission)
    if not blocking:
        return
    anything = asked_of_resource(admission.user, "update", "*", "*", "*", subresource="finalizers")
    if (await parts.authorizer.authorize(anything)).allowed:
        return
    for owner in blocking:
        await _require_finalizing(parts, admission, owner)


async def _require_delete(parts: PluginParts, admission: Admission) -> None:
    gvr = admission.gvr
    asked = asked_of_resource(
        admission.user,
        "delete",
        gvr.group,
        gvr.resource,
        admission.name,
        namespace=admission.namespace,
        subresource=admission.subresource,
    )
    await _require(parts, admission, asked, _CANNOT_DELETE)


async def _require_finalizing(parts: PluginParts, admission: Admission, owner: JsonObject) -> None:
    api_version, kind = owner.get("apiVersion", ""), owner.get("kind", "")
    group, _, version = api_version.rpartition("/")
    served = parts.by_kind(group, version, kind)
    if served is None:
        missing = f"no matches for kind {go_quote(kind)} in version {go_quote(api_version)}"
        reason = "cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion"
        raise refused(admission, admission.obj, f"{reason} {api_version} Kind {kind}: {missing}")
    asked = asked_of_resource(
        admission.user,
        "update",
        served.group,
        served.resource,
        owner.get("name", ""),
        namespace=admission.namespace if served.namespaced else "",
        subresource="finalizers",
    )
    await _require(parts, admission, asked, _CANNOT_FINALIZE)


async def _require(parts: PluginParts, admission: Admission, asked: Attributes, problem: str) -> None:
    """Raises StatusError 403 with the problem, what the authorizer said and what went wrong with it."""
    verdict = await parts.authorizer.authorize(asked)
    if not verdict.allowed:
        raise refused(admission, admission.obj, f"{problem}: {verdict.reason}, {verdict.error or '<nil>'}")


PLUGIN = Plugin(
    "OwnerReferencesPermissionEnforcement",
    _handles,
    lambda parts: PluginReviews(validate=partial(_validate, parts)),
)
