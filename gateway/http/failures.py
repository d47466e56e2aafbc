"""Whatever a request failed with, as the answer that its client gets."""

from __future__ import annotations

import logging

from gateway.http.exchange import Request, Response
from gateway.http.negotiation import JSON, negotiate
from gateway.http.representing import represented
from gateway.http.status import (
    StatusError,
    internal_error,
    request_too_large,
    server_timeout,
    service_unavailable,
)
from storage.errors import DeadlineExceeded, NoSpace, StorageError, TooLarge, Unavailable

logger = logging.getLogger(__name__)


async def failure(request: Request, error: Exception) -> Response:
    """A Status answer in the representation that the client accepts, in JSON if it accepts none."""
    status = as_status(error)
    if status.code >= 500:
        log_failure(request, status, error)
    response = Response(status.code, status.body(), headers=list(status.headers))
    if request.representation is JSON:
        try:
            request.representation = negotiate(request.headers.get(b"accept", b""), "")
        except StatusError:
            request.human = True
    if request.representation is JSON and not request.human:
        return response
    return await represented(request, response)


def as_status(error: Exception) -> StatusError:
    """The StatusError that an exception stands for: a storage error's own, 500 for what nobody foresaw."""
    match error:
        case StatusError():
            return error
        case DeadlineExceeded():
            return server_timeout("etcd did not answer in time; the request may still be processed")
        case NoSpace():
            return StatusError(500, "", f"etcdserver: mvcc: database space exceeded: {NoSpace.REMEDY}")
        case Unavailable():
            return service_unavailable("storage is not available")
        case TooLarge():
            return request_too_large("etcdserver: request is too large")
        case StorageError():
            return internal_error(str(error) or type(error).__name__)
        case _:
            return internal_error("the request could not be processed")


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
