"""update: PUT of an object, or of a subresource of the same kind (API Concepts, "Updates to existing resources")."""

from __future__ import annotations

from gateway.endpoints.endpoint import Endpoint
from gateway.http.exchange import Request, Response
from gateway.jsontypes import JsonObject, dumps, loads
from gateway.kinds import metadata
from gateway.writing.answer import respond
from gateway.writing.body import read_object
from gateway.writing.field_tracking import track_fields
from gateway.writing.make import Made, Present
from gateway.writing.options import write_options
from gateway.writing.owners import drop_duplicate_owners
from gateway.writing.update import update_object
from gateway.writing.write import begin


async def update(endpoint: Endpoint, request: Request) -> Response:
    """Replaces an object; creates a missing one if its kind allows that. Answers 200 or 201 with the object."""
    options = write_options(request.query, "UpdateOptions")
    sent = await read_object(request, endpoint, options.validation)
    given = sent.obj
    write = begin(endpoint, request, options, size=sent.size)
    context, resource = write.context, endpoint.resource
    meta = given.setdefault("metadata", {})
    metadata.match_namespace(meta, metadata.expected_namespace(resource, context.namespace))
    metadata.match_name(meta, context.name)
    if "ownerReferences" in given["metadata"]:
        await drop_duplicate_owners(write, given)
    pristine: list[bytes] = []

    def make(present: Present) -> Made:
        new: JsonObject = loads(pristine[0]) if pristine else given
        if not pristine:
            pristine.append(dumps(given))
        track_fields(write, new, present, sent.emptied)
        return Made(new, unstored=sent.unstored)

    allowed = endpoint.strategy.allow_create_on_update
    return await respond(write, await update_object(write, make, uid=meta.get("uid", ""), allow_create=allowed))
