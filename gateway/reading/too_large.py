"""The answer to a resourceVersion in the future ("Unavailable resource versions")."""

from __future__ import annotations

from gateway.http.status import StatusError
from storage.reads import TooLargeRevision


def too_large(error: TooLargeRevision) -> StatusError:
    """The error 504 with the cause ResourceVersionTooLarge and Retry-After."""
    details = {
        "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
        "retryAfterSeconds": 1,
    }
    return StatusError(504, "Timeout", f"Timeout: {error}", details, [(b"retry-after", b"1")])
