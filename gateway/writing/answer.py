"""The answer to a write: the written object."""

from __future__ import annotations

from gateway.http.exchange import Response
from gateway.jsontypes import loads
from gateway.schema.encode import encode_answer
from gateway.writing.write import Write, Written
from storage.entry import with_version


async def respond(write: Write, written: Written) -> Response:
    """The answer with the written object: 201 if it was created, otherwise 200."""
    return Response(201 if written.created else 200, await body_of(write, written))


async def body_of(write: Write, written: Written) -> bytes:
    """The written object as JSON in the served version, with its resourceVersion."""
    endpoint = write.endpoint
    value = await endpoint.written.read(written.value)
    if endpoint.from_storage is None and not written.given and not written.link:
        return with_version(value, written.revision)
    obj = endpoint.served(loads(value))
    version = str(written.revision) if written.revision else written.given
    if version:
        obj["metadata"]["resourceVersion"] = version
    if written.link:
        obj["metadata"]["selfLink"] = written.link
    return encode_answer(obj, endpoint.resource.kind, endpoint.resource.api_version, endpoint.type)
