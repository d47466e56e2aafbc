"""delete: DELETE of one object (API Concepts, "Resource deletion")."""

from __future__ import annotations

from gateway.endpoints.endpoint import Endpoint
from gateway.http import status
from gateway.http.exchange import Request, Response
from gateway.jsontypes import JsonObject, dumps
from gateway.writing.answering import body_of
from gateway.writing.delete_options import read_delete_options
from gateway.writing.deleting import delete_object
from gateway.writing.deletion import RETURNS_OBJECT
from gateway.writing.options import DeleteOptions, WriteOptions
from gateway.writing.write import Write, begin

CHILDREN_STAY = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set "
    "propagationPolicy=Orphan to suppress this warning"
)
_SYSTEM_PRIORITIES = frozenset({"system-node-critical", "system-cluster-critical"})


async def delete(endpoint: Endpoint, request: Request) -> Response:
    """Deletes or marks an object; answers it or a Status. Raises StatusError 400, 404, 409, 413, 415, 422."""
    options = await read_delete_options(request)
    resource = endpoint.resource
    write = begin(endpoint, request, WriteOptions(dry_run=options.dry_run))
    if resource.resource == "priorityclasses" and write.attributes.name in _SYSTEM_PRIORITIES:
        reason = "this is a system priority class and cannot be deleted"
        raise status.forbidden(resource.group, resource.resource, write.attributes.name, reason)
    if resource.resource == "jobs" and resource.group == "batch" and unspecified(options):
        request.warnings.append(CHILDREN_STAY)
    deleted = await delete_object(write, options)
    code = 202 if not deleted.gone and options.orphan_dependents is False else 200
    if not deleted.gone or (resource.group, resource.resource) in RETURNS_OBJECT:
        return Response(code, body_of(write, deleted.written))
    return Response(code, _success(write, deleted.obj))


def unspecified(options: DeleteOptions) -> bool:
    """Whether the client leaves it to the kind what becomes of an object's dependents."""
    return options.propagation is None and options.orphan_dependents is None


def _success(write: Write, obj: JsonObject) -> bytes:
    resource, meta = write.resource, obj["metadata"]
    details = {"name": meta.get("name"), "group": resource.group, "kind": resource.resource, "uid": meta.get("uid")}
    return dumps(
        {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Success",
            "details": {key: value for key, value in details.items() if value},
        }
    )
