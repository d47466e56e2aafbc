"""pods/binding and bindings: what a scheduler posts to put a pod on a node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateway.admission.chain import Operation, review
from gateway.http import status
from gateway.http.exchange import Request, Response
from gateway.jsontypes import JsonObject
from gateway.kinds.resource import Resource
from gateway.subresources.answers import created_status, set_condition
from gateway.validation import field
from gateway.verbs import metadata
from gateway.verbs.body import read_object
from gateway.verbs.direct import change_stored
from gateway.verbs.options import write_options
from gateway.verbs.scope import scope_of
from gateway.verbs.write import begin

if TYPE_CHECKING:
    from gateway.server import Gateway


async def create(gateway: Gateway, request: Request, resource: Resource) -> Response:
    """Binds a pod to a node; answers a Status. Raises StatusError 400, 404, 409, 415, 422."""
    options = write_options(request.query, "CreateOptions")
    write = begin(gateway, request, resource, options)
    context, scope = write.context, write.scope
    binding = await read_object(request, scope.type, resource.api_version, resource.kind, options.validation)
    meta = binding["metadata"]
    if not resource.subresource:  # on the subresource a uid is a precondition
        metadata.wipe_system_fields(meta)
    metadata.match_namespace(meta, context.namespace)
    if resource.subresource and meta.get("name", "") != context.name:
        raise status.bad_request("name in URL does not match name in Binding object")
    context.name = meta.get("name", "")
    if not context.name:
        raise status.bad_request("Name parameter required.")
    await review(scope.chain.mutating[Operation.CREATE], binding, None, context, scope.lookup)
    _check_target(context.name, binding.get("target") or {})
    await review(scope.chain.validating[Operation.CREATE], binding, None, context, scope.lookup)
    pods = scope_of(gateway, gateway.resources["", "v1", "pods", ""])

    def bind(pod: JsonObject) -> None:
        _assign(pod, binding, context.now)

    await change_stored(gateway.store, pods, context.namespace, context.name, bind, dry_run=options.dry_run)
    return created_status()


def _check_target(name: str, target: JsonObject) -> None:
    """Raises StatusError 422. (kube-apiserver finds the same faults and answers 500.)"""
    errors = []
    if target.get("kind") not in (None, "", "Node"):
        errors.append(field.not_supported("target.kind", target["kind"], ("Node", "<empty>")))
    if not target.get("name"):
        errors.append(field.required("target.name"))
    if errors:
        raise status.invalid("", "Binding", name, errors)


def _assign(pod: JsonObject, binding: JsonObject, now: str) -> None:
    meta, wanted, spec = pod["metadata"], binding["metadata"], pod.setdefault("spec", {})
    name = meta["name"]
    for key, what in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
        if wanted.get(key) and wanted[key] != meta.get(key):
            given, actual = wanted[key], meta.get(key)
            cause = f"Precondition failed: {what} in precondition: {given}, {what} in object meta: {actual}"
            raise status.conflict("", "pods", name, cause)
    problem = ""
    if meta.get("deletionTimestamp"):
        problem = f"pod {name} is being deleted, cannot be assigned to a host"
    elif spec.get("nodeName"):
        problem = f'pod {name} is already assigned to node "{spec["nodeName"]}"'
    elif spec.get("schedulingGates"):
        problem = f"pod {name} has non-empty .spec.schedulingGates"
    if problem:
        raise status.conflict("", "pods/binding", name, problem)
    spec["nodeName"] = binding["target"]["name"]
    for key in ("annotations", "labels"):
        if wanted.get(key):
            meta[key] = {**(meta.get(key) or {}), **wanted[key]}
    state = pod.setdefault("status", {})
    state.pop("nominatedNodeName", None)
    set_condition(state, {"type": "PodScheduled", "status": "True"}, now)
