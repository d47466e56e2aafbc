"""Turns an exception that a request raised into a Status."""

from __future__ import annotations

from gateway.http.status import (
    StatusError,
    bad_request,
    internal_error,
    request_too_large,
    server_timeout,
    service_unavailable,
    too_many_requests,
)
from gateway.jsontypes import TooDeep
from gateway.schema.errors import TooManyDefaults
from storage.errors import (
    CorruptObject,
    DeadlineExceeded,
    NoSpace,
    NotLoaded,
    PermissionDenied,
    StorageError,
    TooLarge,
    Unanswered,
    Unauthenticated,
    Unavailable,
    WholeDeleted,
    WholeReplaced,
)


def as_status(error: Exception) -> StatusError:
    """The StatusError for an exception: storage errors have their own, unexpected exceptions become 500."""
    match error:
        case StatusError():
            return error
        case Unanswered():  # no Retry-After: the write may have succeeded, and a retry would repeat it
            text = "Timeout: request did not complete within the allotted timeout: etcd did not say whether it was done"
            return StatusError(504, "Timeout", text, {})
        case NotLoaded():
            return too_many_requests("storage is (re)initializing")
        case DeadlineExceeded():
            return server_timeout("etcd did not answer in time")
        case NoSpace():
            return StatusError(500, "", f"etcdserver: mvcc: database space exceeded: {NoSpace.REMEDY}")
        case WholeDeleted():
            return StatusError(404, "NotFound", str(error))
        case WholeReplaced():
            return service_unavailable(str(error))
        case Unavailable():
            return service_unavailable("storage is not available")
        case TooLarge():
            return request_too_large("etcdserver: request is too large")
        case CorruptObject():
            return internal_error(error.reason) if error.untransformed else StatusError(500, "", error.reason)
        case PermissionDenied() | Unauthenticated():  # kube-apiserver, too, passes etcd's message on
            return StatusError(500, "", str(error))
        case StorageError():
            return internal_error(str(error) or type(error).__name__)
        case TooManyDefaults():
            return bad_request(str(error))
        case TooDeep() | RecursionError():
            return bad_request(f"the object is nested too deeply: {error}")
        case _:
            return internal_error("the request could not be processed")
