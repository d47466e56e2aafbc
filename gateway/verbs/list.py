"""LIST: a collection, whole or in chunks ("Retrieving large results sets in chunks", "Semantics for get and list")."""

from __future__ import annotations

from gateway.endpoints.endpoint import Endpoint
from gateway.http.exchange import Request, Response
from gateway.http.time_slices import next_turn
from gateway.reading.list_options import list_options
from gateway.reading.lists import MANY, answer_page
from gateway.reading.pages import read_page
from gateway.reading.unreadable import list_error
from storage.errors import AwaitedObject, CorruptObject


async def list_(endpoint: Endpoint, request: Request) -> Response:
    """Answers with the list of the objects that the options select. Raises StatusError 400, 410, 422 and 504.

    Raises StatusError 500 if one of these objects is unreadable.
    """
    options = list_options(request, endpoint.selectable, False, endpoint.sharded)
    prefix = endpoint.collection(request.info.namespace)
    if len(endpoint.cache) > MANY:
        await next_turn()
    page = await read_page(endpoint.store.reads, endpoint, prefix, options)
    try:
        return await answer_page(endpoint, request, page, prefix, options)
    except AwaitedObject:
        raise  # the caller waits until the object can be decrypted
    except CorruptObject as error:
        raise list_error(endpoint, page.entries, error) from None
