"""Turns an exception of a request into the answer."""

from __future__ import annotations

import logging

from gateway.encodings.rendering_process import RenderingProcess
from gateway.encodings.representation import represented
from gateway.http.deadline import TimedOut
from gateway.http.exchange import Request, Response
from gateway.http.failures import as_status
from gateway.http.negotiation import JSON, MEMORABLE, Representation
from gateway.http.status import StatusError
from storage.errors import NoSpace, PermissionDenied, Unauthenticated, Unavailable

logger = logging.getLogger(__name__)

FORESEEN = StatusError, Unavailable, NoSpace, PermissionDenied, Unauthenticated


async def failure(request: Request, error: Exception, apart: RenderingProcess) -> Response:
    """The Status answer for an error, in the representation that the client accepts, else in JSON.

    A request that timed out gets a text.
    """
    status = as_status(error)
    if status.code >= 500:
        log_failure(request, status, error)
    if isinstance(status, TimedOut):
        return Response(status.code, status.body(), b"text/plain; charset=utf-8", encoded=True)
    response = Response(status.code, status.body(), headers=list(status.headers))
    accept = request.headers.get(b"accept", b"")
    representation = _negotiated(request, accept, status)
    if request.human:
        representation = representation.prettied()
    return await represented(representation, response, apart=apart)


def _negotiated(request: Request, accept: bytes, status: StatusError) -> Representation:
    """The representation of an error. For 401, 403 and 406, a long Accept header is not parsed, to save CPU time."""
    if len(accept) > MEMORABLE:
        match status.code:
            case 401 | 403:
                return JSON
            case 406:
                return JSON.prettied()
    return request.media.for_status(accept)


def log_failure(request: Request, status: StatusError, error: Exception) -> None:
    """Writes one log record for a 5xx answer; with the traceback if the error was not foreseen."""
    unforeseen = not isinstance(error, FORESEEN)
    logger.log(
        logging.ERROR if unforeseen else logging.WARNING,
        "%s %s failed: %s",
        request.method,
        request.path,
        status.message,
        exc_info=error if unforeseen else None,
    )
