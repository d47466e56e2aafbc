"""Errors that a client sees as a Kubernetes `Status` (apimachinery `pkg/api/errors`).

Any code that handles a request may raise a `StatusError`, made by one of the functions below; the endpoint turns it
into the answer. `details` are the details of the Status as JSON.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from gateway.jsontypes import JsonObject, dumps
from gateway.validation.field import MOST_ERRORS, FieldError, go_quote

_LONGEST_NAME = 8192


def shown(name: str) -> str:
    """A name for messages, cut to 8192 characters; valid names, kinds and paths are shorter."""
    return name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}..."


class StatusError(Exception):
    """An error answer. `headers` are sent with it (Retry-After, Allow, WWW-Authenticate)."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        details: JsonObject | None = None,
        headers: Sequence[tuple[bytes, bytes]] = (),
    ) -> None:
        super().__init__(message)
        self.code, self.reason, self.message, self.details = code, reason, message, details
        self.headers = tuple(headers)
        self.list_meta: JsonObject = {}  # the metadata of the Status, such as a new continue token
        self.warnings: Sequence[str] = ()  # of the patch that is refused

    def status(self) -> JsonObject:
        """The Status object, as JSON."""
        body: JsonObject = {"kind": "Status", "apiVersion": "v1", "metadata": self.list_meta, "status": "Failure"}
        if self.message:
            body["message"] = self.message
        if self.reason:
            body["reason"] = self.reason
        if self.details is not None:
            body["details"] = self.details
        body["code"] = self.code
        return body

    def body(self) -> bytes:
        return dumps(self.status()) + b"\n"


def _details(name: str, group: str, kind: str) -> JsonObject:
    return {k: shown(v) for k, v in (("name", name), ("group", group), ("kind", kind)) if v}


def _qualified(resource: str, group: str) -> str:
    return f"{shown(resource)}.{shown(group)}" if group else shown(resource)


def not_found(group: str, resource: str, name: str) -> StatusError:
    message = f"{_qualified(resource, group)} {go_quote(shown(name))} not found"
    return StatusError(404, "NotFound", message, _details(name, group, resource))


def already_exists(group: str, resource: str, name: str) -> StatusError:
    message = f"{_qualified(resource, group)} {go_quote(shown(name))} already exists"
    return StatusError(409, "AlreadyExists", message, _details(name, group, resource))


def conflict(group: str, resource: str, name: str, cause: str) -> StatusError:
    message = f"Operation cannot be fulfilled on {_qualified(resource, group)} {go_quote(shown(name))}: {cause}"
    return StatusError(409, "Conflict", message, _details(name, group, resource))


MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


def forbidden(group: str, resource: str, name: str, cause: str) -> StatusError:
    subject = _qualified(resource, group) + (f" {go_quote(shown(name))}" if name else "")
    prefix = f"{subject} is forbidden" if resource else "forbidden"
    return StatusError(403, "Forbidden", f"{prefix}: {cause}", _details(name, group, resource))


MOST_TEXT = 1 << 18
"""Characters of all errors of one answer together. Errors beyond them are left out, as are those after MOST_ERRORS."""


def invalid(group: str, kind: str, name: str, errors: Sequence[FieldError], *, once: bool = False) -> StatusError:
    """The error 422 with one cause for each field error, in the same order. Errors with the same text come once in the
    message; with `once`, also once in the causes.
    """
    causes, texts, left = list[JsonObject](), dict[str, None](), MOST_TEXT
    for error in islice(errors, MOST_ERRORS):
        body = error.body
        text = f"{error.field}: {body}"
        if not once or text not in texts:
            causes.append({"reason": error.reason, "message": body, "field": error.field})
        texts[text] = None
        left -= len(text)
        if left <= 0:
            break
    details = _details(name, group, kind)
    if causes:
        details["causes"] = causes
    text = f"[{', '.join(texts)}]" if len(texts) > 1 else next(iter(texts), "<nil>")
    return StatusError(422, "Invalid", f"{_qualified(kind, group)} {go_quote(shown(name))} is invalid: {text}", details)


def bad_request(message: str) -> StatusError:
    return StatusError(400, "BadRequest", message)


def method_not_supported(group: str, resource: str, verb: str) -> StatusError:
    message = f'{verb} is not supported on resources of kind "{_qualified(resource, group)}"'
    return StatusError(405, "MethodNotAllowed", message, _details("", group, resource))


def unsupported_media_type(message: str) -> StatusError:
    return StatusError(415, "UnsupportedMediaType", message)


def request_too_large(message: str) -> StatusError:
    return StatusError(413, "RequestEntityTooLarge", message)


def internal_error(message: str) -> StatusError:
    return StatusError(500, "InternalError", f"Internal error occurred: {message}", {"causes": [{"message": message}]})


def expired(message: str) -> StatusError:
    return StatusError(410, "Expired", message)


def service_unavailable(message: str, retry_after: int = 1) -> StatusError:
    return _retry_later(503, "ServiceUnavailable", message, retry_after)


def too_many_requests(message: str, retry_after: int = 1) -> StatusError:
    return _retry_later(429, "TooManyRequests", message, retry_after)


def server_timeout(message: str, retry_after: int = 1) -> StatusError:
    return _retry_later(504, "Timeout", message, retry_after)


def _retry_later(code: int, reason: str, message: str, seconds: int) -> StatusError:
    header = (b"retry-after", str(seconds).encode())
    return StatusError(code, reason, message, {"retryAfterSeconds": seconds}, [header])
