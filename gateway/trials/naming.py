"""What the object of a request is called that nobody has looked at yet."""

from __future__ import annotations

from contextlib import suppress

from gateway.http.exchange import Request
from gateway.http.status import StatusError
from gateway.schema.catalog import META, type_of
from gateway.schema.protobuf import read_envelope, read_message
from gateway.schema.protobuf_wire import ProtobufError
from gateway.writing.body import PROTOBUF, parse_document


async def name_in(request: Request) -> str:
    """The name of the object in a body of any kind; "" where there is none. Raises as reading the body does."""
    data = await request.body()
    with suppress(StatusError, ProtobufError, KeyError, TypeError):  # the verb would say what is wrong
        media_type = request.media.body_type(request.headers.get(b"content-type", b""))
        if media_type == PROTOBUF:
            # of all kinds the metadata are the first field
            value = read_message(type_of(META + "PartialObjectMetadata"), read_envelope(data).raw)
        else:
            value = parse_document(data, media_type, "", [], strictly=False)
        return str(value["metadata"]["name"])
    return ""
