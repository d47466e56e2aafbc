"""pods/binding and bindings: what a scheduler posts to put a pod on a node."""

from __future__ import annotations

from gateway.endpoints.endpoint import Endpoint
from gateway.http import status
from gateway.http.exchange import Request, Response
from gateway.jsontypes import JsonObject
from gateway.kinds import metadata
from gateway.kinds.attributes import Operation
from gateway.release.gates import Enabled
from gateway.subresources.answers import created_status, set_condition
from gateway.validation import field
from gateway.validation.names import is_dns1123_subdomain, is_path_segment_name
from gateway.writing.admission import mutate, validate
from gateway.writing.body import read_object
from gateway.writing.conflicts import unlike_stored
from gateway.writing.field_tracking import track_fields
from gateway.writing.options import write_options
from gateway.writing.raw_update import change_stored
from gateway.writing.write import begin


async def create(endpoint: Endpoint, request: Request) -> Response:
    """Binds a pod to a node; answers a Status. Raises StatusError 400, 404, 409, 415, 422."""
    options = write_options(request.query, "CreateOptions")
    binding, resource = (await read_object(request, endpoint, options.validation)).obj, endpoint.resource
    meta = binding["metadata"]
    write = begin(endpoint, request, options, name=meta.get("name", ""))
    context = write.context
    if not resource.subresource:  # on the subresource a uid is a precondition
        metadata.wipe_system_fields(meta)
    metadata.match_namespace(meta, context.namespace)
    if resource.subresource and meta.get("name", "") != context.name:
        raise status.bad_request("name in URL does not match name in Binding object")
    if not context.name:
        raise status.bad_request("Name parameter required.")
    if problems := is_path_segment_name(context.name):
        raise status.bad_request(f"Name parameter invalid: {field.go_quote(context.name)}: {';'.join(problems)}")
    track_fields(write, binding)
    admitted = await mutate(write, Operation.CREATE, binding, None)
    binding = admitted.obj
    _check_target(context.name, binding.get("target") or {}, context.enabled("BoundNodesNamed"))
    await validate(write, admitted, binding)
    pods = endpoint.siblings.of("", "v1", "pods")

    key = endpoint.services.shown_key(pods.key(context.namespace, context.name), prefixed=not options.dry_run)

    def bind(pod: JsonObject) -> None:
        _check_preconditions(pod["metadata"], binding["metadata"], key)
        _assign(pod, binding, context.now, context.enabled)

    await change_stored(pods, context.namespace, context.name, bind, dry_run=options.dry_run)
    return created_status()


def _check_target(name: str, target: JsonObject, named: bool) -> None:
    """Raises StatusError 422 for an invalid target. (kube-apiserver finds the same faults and answers 500.)

    `named` is whether the target must have the name of a node.
    """
    errors = []
    if target.get("kind") not in (None, "", "Node"):
        errors.append(field.not_supported("target.kind", target["kind"], ("Node", "<empty>")))
    if not target.get("name"):
        errors.append(field.required("target.name"))
    elif named and target.get("kind") in (None, "", "Node"):
        wrong = is_dns1123_subdomain(target["name"])
        errors += [field.invalid("target.name", target["name"], message) for message in wrong]
    if errors:
        raise status.invalid("", "Binding", name, errors)


def _check_preconditions(meta: JsonObject, wanted: JsonObject, key: str) -> None:
    """Raises StatusError 409 if the binding has another uid or resourceVersion than the pod."""
    for member, what in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
        if wanted.get(member) and wanted[member] != meta.get(member):
            cause = unlike_stored(key, what, wanted[member], meta.get(member, ""))
            raise status.conflict("", "pods", meta["name"], cause)


def _assign(pod: JsonObject, binding: JsonObject, now: str, enabled: Enabled) -> None:
    meta, wanted, spec = pod["metadata"], binding["metadata"], pod.setdefault("spec", {})
    name = meta["name"]
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
    for key in ("annotations", "labels") if enabled("PodTopologyLabelsAdmission") else ("annotations",):
        if wanted.get(key):
            meta[key] = {**(meta.get(key) or {}), **wanted[key]}
    state = pod.setdefault("status", {})
    if enabled("ClearingNominatedNodeNameAfterBinding"):
        state.pop("nominatedNodeName", None)
    set_condition(state, {"type": "PodScheduled", "status": "True"}, now)
