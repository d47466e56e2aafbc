"""NamespaceLifecycle: nothing is created in a namespace that is missing or terminating; some namespaces stay."""

from __future__ import annotations

from gateway.admission.chain import Operation, Plugin
from gateway.admission.lookup import Lookup
from gateway.admission.refusal import refused
from gateway.http.status import forbidden, not_found
from gateway.jsontypes import JsonObject
from gateway.kinds.resource import Resource
from gateway.kinds.strategy import WriteContext

IMMORTAL = frozenset({"default", "kube-system", "kube-public"})


def _handles(resource: Resource, operation: Operation) -> bool:
    if not resource.group and resource.resource == "namespaces":
        return operation is Operation.DELETE
    return resource.namespaced and operation in (Operation.CREATE, Operation.UPDATE)


async def _admit(obj: JsonObject | None, old: JsonObject | None, context: WriteContext, lookup: Lookup) -> None:
    if obj is None:
        _refuse_immortal(context)
        return
    if context.resource.resource == "localsubjectaccessreviews":
        return
    namespace = await lookup.get("namespaces", "", context.namespace)
    if namespace is None:
        raise not_found("", "namespaces", context.namespace)
    if old is None and (namespace.get("status") or {}).get("phase") == "Terminating":
        reason = f"unable to create new content in namespace {context.namespace} because it is being terminated"
        error = refused(context, obj, reason)
        cause = {
            "reason": "NamespaceTerminating",
            "message": f"namespace {context.namespace} is being terminated",
            "field": "metadata.namespace",
        }
        error.details = {**(error.details or {}), "causes": [cause]}
        raise error


def _refuse_immortal(context: WriteContext) -> None:
    if context.resource.resource == "namespaces" and context.name in IMMORTAL:
        raise forbidden("", "namespaces", context.name, "this namespace may not be deleted")


PLUGIN = Plugin("NamespaceLifecycle", _handles, admit=_admit)
