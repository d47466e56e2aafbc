"""Routes of one document each, for GET and in one media type: the version, the issuer of tokens and its keys.

A refusal is a Status in the representation that the client accepts, as in kube-apiserver's web services.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from gateway.encodings.registry import encode_plain
from gateway.endpoints.routing import method_not_allowed, unknown_path
from gateway.http.negotiation import Negotiator, literally_acceptable, unacceptable
from gateway.http.status import StatusError
from gateway.operations.framework import ANY_METHOD, APIRouter, Request, Response

_BELOW = "below"


def add_service(
    router: APIRouter,
    path: str,
    content: Callable[[Request], bytes],
    media_type: str,
    refusals: Negotiator,
    headers: Mapping[str, str] | None = None,
) -> None:
    """Adds a document to a router: at its path, also with trailing slashes. Paths below it get 404.

    `refusals` negotiates the representation of a refusal.
    """

    async def answer(request: Request) -> Response:
        error = _refusal(request, media_type)
        if error is not None:
            return refused(request, error, refusals)
        return Response(content(request), media_type=media_type, headers=headers)

    _add(router, path, answer)
    _add(router, f"{path}/{{{_BELOW}:path}}", answer)


def _add(router: APIRouter, path: str, answer: Callable[[Request], Awaitable[Response]]) -> None:
    router.add_route(path, answer, methods=ANY_METHOD)


def _refusal(request: Request, media_type: str) -> StatusError | None:
    if request.path_params.get(_BELOW, "").strip("/"):
        return unknown_path()
    if request.method != "GET":
        return method_not_allowed()
    if not literally_acceptable(request.headers.get("accept", ""), (media_type,)):
        return unacceptable((media_type,))
    return None


def refused(request: Request, error: StatusError, media: Negotiator) -> Response:
    """The answer for an error: a Status in the representation that the client accepts."""
    representation = media.for_status(request.headers.get("accept", "").encode("latin-1"))
    return Response(encode_plain(representation, error.body()), error.code, media_type=representation.media.name)
