"""patch: PATCH; the content type says which of four patch types (API Concepts, "Updates to existing resources")."""

from __future__ import annotations

from gateway.endpoints.endpoint import Endpoint
from gateway.http.exchange import Request, Response
from gateway.http.status import StatusError
from gateway.writing.answer import respond
from gateway.writing.patch import maker_of, size_of
from gateway.writing.patch_body import APPLIES, read_patch
from gateway.writing.patch_refusals import refusal
from gateway.writing.update import update_object
from gateway.writing.write import begin


async def patch(endpoint: Endpoint, request: Request) -> Response:
    """Applies the patch in the body to an object; a server-side apply may create the object.

    Raises StatusError 400, 404, 409, 413, 415, 422.
    """
    media_type, body, options = await read_patch(request, endpoint.resource)
    write = begin(endpoint, request, options, size=size_of(media_type, body))
    may_create = media_type in APPLIES and _creates(endpoint)
    try:
        written = await update_object(write, maker_of(write, media_type, body), allow_create=may_create)
    except StatusError as error:
        raise await refusal(write, error, media_type, body) from None
    return await respond(write, written)


def _creates(endpoint: Endpoint) -> bool:
    """Whether an apply creates a missing object: always by the resource itself, for some kinds by a subresource too."""
    strategy = endpoint.strategy
    return not endpoint.resource.subresource or strategy.allow_create_on_update or strategy.allow_create_on_apply
