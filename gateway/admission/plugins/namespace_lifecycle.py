"""NamespaceLifecycle: refuses creation in a missing or terminating namespace, and deletion of some namespaces."""

from __future__ import annotations

from collections.abc import Awaitable
from functools import partial

from gateway.admission.chain import Plugin, PluginParts, PluginReviews
from gateway.admission.kinds import NAMESPACES
from gateway.admission.record import Admission
from gateway.admission.refusal import refused
from gateway.http.status import forbidden, not_found
from gateway.jsontypes import JsonObject
from gateway.kinds.attributes import Operation
from gateway.kinds.objects import Objects
from gateway.kinds.resource import Resource

IMMORTAL = frozenset({"default", "kube-system", "kube-public"})


def _handles(resource: Resource, operation: Operation) -> bool:
    if not resource.group and resource.resource == "namespaces":
        return operation is Operation.DELETE
    return resource.namespaced and operation in (Operation.CREATE, Operation.UPDATE)


def _admit(admission: Admission, objects: Objects, updates: bool) -> Awaitable[None] | None:
    """`updates` says whether an update needs the namespace, as a create does."""
    if admission.obj is None:
        _refuse_immortal(admission)
        return None
    if admission.operation is Operation.UPDATE and not updates:
        return None
    if admission.resource.resource == "localsubjectaccessreviews":
        return None
    namespace = objects.cached(NAMESPACES, "", admission.namespace)
    if namespace is None:
        return _ask(admission, objects)
    _check(admission, namespace)
    return None


async def _ask(admission: Admission, objects: Objects) -> None:
    """Checks a namespace that is read from etcd, because the watch cache does not have it yet."""
    namespace = await objects.get(NAMESPACES, "", admission.namespace)
    if namespace is None:
        raise not_found("", "namespaces", admission.namespace)
    _check(admission, namespace)


def _check(admission: Admission, namespace: JsonObject) -> None:
    if admission.old is None and (namespace.get("status") or {}).get("phase") == "Terminating":
        reason = f"unable to create new content in namespace {admission.namespace} because it is being terminated"
        error = refused(admission, admission.obj, reason)
        cause = {
            "reason": "NamespaceTerminating",
            "message": f"namespace {admission.namespace} is being terminated",
            "field": "metadata.namespace",
        }
        error.details = {**(error.details or {}), "causes": [cause]}
        raise error


def _refuse_immortal(admission: Admission) -> None:
    if admission.resource.resource == "namespaces" and admission.name in IMMORTAL:
        raise forbidden("", "namespaces", admission.name, "this namespace may not be deleted")


def _make(parts: PluginParts) -> PluginReviews:
    updates = not parts.release.gates.enabled("UpdatesWithoutNamespace")
    return PluginReviews(partial(_admit, objects=parts.objects, updates=updates))


PLUGIN = Plugin("NamespaceLifecycle", _handles, _make)
