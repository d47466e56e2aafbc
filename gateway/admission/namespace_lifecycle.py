"""NamespaceLifecycle: nothing is created in a namespace that is missing or terminating; some namespaces stay."""

from __future__ import annotations

from gateway.admission.chain import Plugin, looking_up
from gateway.admission.lookup import Lookup
from gateway.admission.refusal import refused
from gateway.http.status import forbidden, not_found
from gateway.kinds.attributes import Attributes, Operation
from gateway.kinds.resource import Resource

IMMORTAL = frozenset({"default", "kube-system", "kube-public"})


def _handles(resource: Resource, operation: Operation) -> bool:
    if not resource.group and resource.resource == "namespaces":
        return operation is Operation.DELETE
    return resource.namespaced and operation in (Operation.CREATE, Operation.UPDATE)


async def _admit(attributes: Attributes, lookup: Lookup) -> None:
    obj, old = attributes.obj, attributes.old
    if obj is None:
        _refuse_immortal(attributes)
        return
    if attributes.resource.resource == "localsubjectaccessreviews":
        return
    namespace = await lookup.get("namespaces", "", attributes.namespace)
    if namespace is None:
        raise not_found("", "namespaces", attributes.namespace)
    if old is None and (namespace.get("status") or {}).get("phase") == "Terminating":
        reason = f"unable to create new content in namespace {attributes.namespace} because it is being terminated"
        error = refused(attributes, obj, reason)
        cause = {
            "reason": "NamespaceTerminating",
            "message": f"namespace {attributes.namespace} is being terminated",
            "field": "metadata.namespace",
        }
        error.details = {**(error.details or {}), "causes": [cause]}
        raise error


def _refuse_immortal(attributes: Attributes) -> None:
    if attributes.resource.resource == "namespaces" and attributes.name in IMMORTAL:
        raise forbidden("", "namespaces", attributes.name, "this namespace may not be deleted")


PLUGIN = Plugin("NamespaceLifecycle", _handles, looking_up(admit=_admit))
