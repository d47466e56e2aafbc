"""create: POST to a collection (API Concepts, "API verbs")."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateway.http.exchange import Request, Response
from gateway.kinds.resource import Resource
from gateway.verbs import metadata
from gateway.verbs.body import read_object
from gateway.verbs.offload import offloaded
from gateway.verbs.options import write_options
from gateway.verbs.write import begin, create_object, respond, track_fields

if TYPE_CHECKING:
    from gateway.server import Gateway


async def create(gateway: Gateway, request: Request, resource: Resource) -> Response:
    """Creates the object of the body; answers 201 with it. Raises StatusError 400, 403, 404, 409, 413, 415, 422."""
    options = write_options(request.query, "CreateOptions")
    write = begin(gateway, request, resource, options)
    context = write.context
    obj = await read_object(request, write.scope.type, resource.api_version, resource.kind, options.validation)
    meta = obj.setdefault("metadata", {})
    metadata.wipe_system_fields(meta)
    context.name = context.name or meta.get("name", "")
    if not context.namespace and resource.resource == "namespaces" and not resource.group:
        context.namespace = context.name
    metadata.match_namespace(meta, metadata.expected_namespace(resource, context.namespace))
    metadata.drop_duplicate_owners(meta, context.warnings)
    write.size = len(await request.body())
    await offloaded(write.size, lambda: track_fields(write, obj, None))
    return respond(write, await create_object(write, obj))
