"""Reads the object's name in the body of a request, before the verb has parsed the body."""

from __future__ import annotations

from contextlib import suppress

from gateway.http.exchange import Request
from gateway.http.status import StatusError
from gateway.schema.catalog import META, type_of
from gateway.schema.protobuf import read_envelope, read_message
from gateway.schema.protobuf_wire import ProtobufError
from gateway.writing.body import PROTOBUF, parse_document


async def name_in(request: Request) -> str:
    """The name of the object in a JSON, YAML, CBOR or protobuf body; "" if it has none or is invalid. Raises the errors
    of reading the body.
    """
    data = await request.body()
    with suppress(StatusError, ProtobufError, KeyError, TypeError):  # the verb reports an invalid body
        media_type = request.media.body_type(request.headers.get(b"content-type", b""))
        if media_type == PROTOBUF:
            # every kind has its metadata in field 1
            value = read_message(type_of(META + "PartialObjectMetadata"), read_envelope(data).raw)
        else:
            value = parse_document(data, media_type, "", [], strictly=False)
        return str(value["metadata"]["name"])
    return ""
