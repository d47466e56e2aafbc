"""GET of one object ("Semantics for get and list": resourceVersion unset, 0 or not older than)."""

from __future__ import annotations

from gateway.encodings.representation import represented_entry
from gateway.endpoints.endpoint import Endpoint
from gateway.http.exchange import Request, Response
from gateway.http.negotiation import JSON
from gateway.reading.objects import read_entry
from gateway.reading.unreadable import read_error
from storage.errors import AwaitedObject, CorruptObject


async def get(endpoint: Endpoint, request: Request) -> Response:
    """Answers with the cached bytes of an object.

    Raises StatusError 404, 504 and, as kube-apiserver does, 500 for a resourceVersion that is not a number,
    and for an unreadable object.
    """
    try:
        entry = await read_entry(endpoint, request)
        encoder = endpoint.encoder(request.representation)
        if request.representation is JSON:
            body = encoder.entry(entry)
        else:
            body = await represented_entry(encoder, entry, endpoint.services.renderings.apart)
    except AwaitedObject:
        raise  # the caller waits for it
    except CorruptObject as error:
        raise read_error(endpoint, error) from None
    return Response(200, body, encoder.content_type, encoded=True)
