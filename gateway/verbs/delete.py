"""delete: DELETE of one object (API Concepts, "Resource deletion")."""

from __future__ import annotations

from gateway.endpoints.endpoint import Endpoint
from gateway.http import status
from gateway.http.exchange import Request, Response
from gateway.jsontypes import JsonObject, dump_line
from gateway.kinds.write_context import WriteOptions
from gateway.writing.answer import body_of
from gateway.writing.corrupt import delete_corrupt
from gateway.writing.delete import delete_object
from gateway.writing.options import DeleteOptions
from gateway.writing.options_body import read_delete_options
from gateway.writing.write import Write, begin


async def delete(endpoint: Endpoint, request: Request) -> Response:
    """Deletes an object, or sets its deletionTimestamp; answers with the object or a Status.

    Raises StatusError 400, 403, 404, 409, 413, 415, 422.
    """
    options = await read_delete_options(request, endpoint.services.admission.release.gates.enabled)
    resource = endpoint.resource
    write = begin(endpoint, request, WriteOptions(dry_run=options.dry_run))
    strategy, name = endpoint.strategy, request.info.name
    reason = strategy.refuse_deletion(name)
    if reason:
        raise status.forbidden(resource.group, resource.resource, name, reason)
    warn_of_dependents(endpoint, request, options)
    if options.unsafe and await delete_corrupt(write, options):
        return Response(200, _success(write, {"metadata": {"name": name}}, resource.kind))
    deleted = await delete_object(write, options)
    code = 202 if not deleted.gone and options.orphan_dependents is False else 200
    if not deleted.gone or strategy.returns_deleted:
        return Response(code, await body_of(write, deleted.written))
    return Response(code, _success(write, deleted.obj))


def warn_of_dependents(endpoint: Endpoint, request: Request, options: DeleteOptions) -> None:
    """Adds the kind's warning if the client names no propagation policy, and the kind's default may surprise."""
    warning = endpoint.strategy.warning_on_default_dependents
    if warning and options.propagation is None and options.orphan_dependents is None:
        request.warnings.append(warning)


def _success(write: Write, obj: JsonObject, kind: str = "") -> bytes:
    resource, meta = write.resource, obj["metadata"]
    kind = kind or resource.resource
    details = {"name": meta.get("name"), "group": resource.group, "kind": kind, "uid": meta.get("uid")}
    return dump_line(
        {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Success",
            "details": {key: value for key, value in details.items() if value},
        }
    )
