"""update: PUT of an object, or of a subresource that takes its kind (API Concepts, "Updates to existing resources")."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateway.http.exchange import Request, Response
from gateway.jsontypes import JsonObject, dumps, loads
from gateway.kinds.resource import Resource
from gateway.verbs import metadata
from gateway.verbs.body import read_object
from gateway.verbs.options import write_options
from gateway.verbs.write import begin, respond, track_fields, update_object

if TYPE_CHECKING:
    from gateway.server import Gateway


async def update(gateway: Gateway, request: Request, resource: Resource) -> Response:
    """Replaces an object; where the kind allows it, creates a missing one. Answers 200 or 201 with the object."""
    options = write_options(request.query, "UpdateOptions")
    write = begin(gateway, request, resource, options)
    context = write.context
    given = await read_object(request, write.scope.type, resource.api_version, resource.kind, options.validation)
    meta = given.setdefault("metadata", {})
    metadata.match_namespace(meta, metadata.expected_namespace(resource, context.namespace))
    metadata.match_name(meta, context.name)
    metadata.drop_duplicate_owners(meta, context.warnings)
    pristine: list[bytes] = []
    write.size = len(await request.body())

    def make(old: JsonObject | None) -> JsonObject:
        new: JsonObject = loads(pristine[0]) if pristine else given
        if not pristine:
            pristine.append(dumps(given))
        track_fields(write, new, old)
        return new

    allowed = write.scope.strategy.allow_create_on_update and not resource.subresource
    return respond(write, await update_object(write, make, uid=meta.get("uid", ""), allow_create=allowed))
