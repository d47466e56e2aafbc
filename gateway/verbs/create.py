"""create: POST to a collection (API Concepts, "API verbs")."""

from __future__ import annotations

from gateway.endpoints.endpoint import Endpoint
from gateway.http.exchange import Request, Response
from gateway.kinds import metadata
from gateway.writing.answer import respond
from gateway.writing.body import read_object
from gateway.writing.create import create_object
from gateway.writing.field_tracking import track_fields
from gateway.writing.offload import offloaded
from gateway.writing.options import write_options
from gateway.writing.owners import drop_duplicate_owners
from gateway.writing.write import begin


async def create(endpoint: Endpoint, request: Request) -> Response:
    """Creates the object in the body; answers 201 with it. Raises StatusError 400, 403, 404, 409, 413, 415, 422."""
    options = write_options(request.query, "CreateOptions")
    sent = await read_object(request, endpoint, options.validation, new=True)
    obj = sent.obj
    meta = obj.setdefault("metadata", {})
    metadata.wipe_system_fields(meta)
    name = meta.get("name", "")
    write = begin(endpoint, request, options, sent=sent, name=name)
    metadata.match_namespace(meta, metadata.expected_namespace(endpoint.resource, write.context.namespace))
    if "ownerReferences" in meta:
        await drop_duplicate_owners(write, obj)
    await offloaded(write.size, track_fields, write, obj)
    return await respond(write, await create_object(write, obj))
