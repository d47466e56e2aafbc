"""Whatever a request failed with, as the answer that its client gets."""

from __future__ import annotations

import logging

from gateway.encodings.representing import represented
from gateway.http.exchange import Request, Response
from gateway.http.failures import as_status
from gateway.http.negotiation import JSON, MEMORABLE
from gateway.http.status import StatusError
from storage.errors import NoSpace, Unavailable

logger = logging.getLogger(__name__)


async def failure(request: Request, error: Exception) -> Response:
    """A Status answer in the representation that the client accepts, in JSON if it accepts none."""
    status = as_status(error)
    if status.code >= 500:
        log_failure(request, status, error)
    response = Response(status.code, status.body(), headers=list(status.headers))
    accept = request.headers.get(b"accept", b"")
    if accept and (len(accept) <= MEMORABLE or not _is_refused(status)):
        request.representation = request.media.for_status(accept)
    else:
        request.representation = JSON
    if request.human:
        request.representation = request.representation.prettied()
    return await represented(request, response)


def _is_refused(status: StatusError) -> bool:
    """Whether it is the answer to somebody who may not ask: no work is done for a long header of theirs."""
    return status.code in (401, 403)


def log_failure(request: Request, status: StatusError, error: Exception) -> None:
    """One log record for each 5xx; with the traceback where the failure was not foreseen."""
    unforeseen = not isinstance(error, StatusError | Unavailable | NoSpace)
    logger.log(
        logging.ERROR if unforeseen else logging.WARNING,
        "%s %s failed: %s",
        request.method,
        request.path,
        status.message,
        exc_info=error if unforeseen else None,
    )
