"""NamespaceLifecycle: nothing is created in a namespace that is missing or terminating; some namespaces stay."""

from __future__ import annotations

from gateway.admission.chain import Plugin, looking_up
from gateway.admission.record import Admission, Operation
from gateway.admission.refusal import refused
from gateway.http.status import forbidden, not_found
from gateway.kinds.identity import core
from gateway.kinds.objects import Objects
from gateway.kinds.resource import Resource

IMMORTAL = frozenset({"default", "kube-system", "kube-public"})


def _handles(resource: Resource, operation: Operation) -> bool:
    if not resource.group and resource.resource == "namespaces":
        return operation is Operation.DELETE
    return resource.namespaced and operation in (Operation.CREATE, Operation.UPDATE)


async def _admit(admission: Admission, objects: Objects) -> None:
    obj, old = admission.obj, admission.old
    if obj is None:
        _refuse_immortal(admission)
        return
    if admission.resource.resource == "localsubjectaccessreviews":
        return
    namespace = await objects.get(core("namespaces"), "", admission.namespace)
    if namespace is None:
        raise not_found("", "namespaces", admission.namespace)
    if old is None and (namespace.get("status") or {}).get("phase") == "Terminating":
        reason = f"unable to create new content in namespace {admission.namespace} because it is being terminated"
        error = refused(admission, obj, reason)
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


PLUGIN = Plugin("NamespaceLifecycle", _handles, looking_up(admit=_admit))
