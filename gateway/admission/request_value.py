"""The variable `request` of expressions: an AdmissionRequest without the objects."""

from __future__ import annotations

from gateway.admission.record import Admission
from gateway.http.user import user_info
from gateway.jsontypes import JsonObject
from gateway.kinds.identity import GroupVersionKind, GroupVersionResource


def request_value(admission: Admission, kind: GroupVersionKind, resource: GroupVersionResource) -> JsonObject:
    """The request as expressions see it. `kind` and `resource` are those that the rule matched.

    An empty name, namespace or subresource is left out, as by Go's `omitempty`.
    """
    value: JsonObject = {
        "uid": "",
        "kind": kind._asdict(),
        "resource": resource._asdict(),
        "subResource": admission.subresource,
        "requestKind": admission.kind._asdict(),
        "requestResource": admission.gvr._asdict(),
        "requestSubResource": admission.subresource,
        "name": admission.name,
        "namespace": admission.namespace,
        "operation": admission.operation.value,
        "userInfo": user_info(admission.user),
        "object": None,
        "oldObject": None,
        "dryRun": admission.dry_run,
        "options": admission.options,
    }
    for name in ("subResource", "requestSubResource", "name", "namespace"):
        if not value[name]:
            del value[name]
    return value


_NAMESPACE_META = (
    *("name", "generateName", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp"),
    *("deletionTimestamp", "deletionGracePeriodSeconds", "labels", "annotations", "finalizers"),
)


def namespace_value(namespace: JsonObject | None) -> JsonObject | None:
    """A Namespace as the variable `namespaceObject`, with a part of its metadata; None for None."""
    if namespace is None:
        return None
    meta = namespace.get("metadata") or {}
    return {
        "metadata": {key: meta[key] for key in _NAMESPACE_META if key in meta},
        "spec": namespace.get("spec") or {},
        "status": namespace.get("status") or {},
    }
