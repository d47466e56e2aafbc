"""Conditional requests for documents (RFC 9110, 13), answered as Go's http.ServeContent does."""

from __future__ import annotations

from collections.abc import Mapping
from email.utils import formatdate, parsedate_to_datetime

from gateway.operations.framework import Request, Response

_NOT_MODIFIED, _FAILED = 304, 412


def dated(headers: Mapping[str, str], modified: float) -> dict[str, str]:
    """The headers with Last-Modified; `modified` is in seconds since the epoch."""
    return {**headers, "last-modified": formatdate(int(modified), usegmt=True)}


def unmet(request: Request, headers: Mapping[str, str], media_type: str, modified: float) -> Response | None:
    """The answer (304 or 412) if the request's conditions are not met; None if they are, or if there are none.

    `headers` may have the document's ETag; `modified` is the time of its last change, in seconds since the epoch.
    """
    match _status(request, headers.get("etag", ""), int(modified)):
        case 304:
            return Response(None, _NOT_MODIFIED, headers if "etag" in headers else dated(headers, modified))
        case 412:
            return Response(None, _FAILED, dated(headers, modified), media_type)
    return None


def _status(request: Request, tag: str, modified: int) -> int:
    """304, 412, or 0 if the document is to be answered."""
    asks, given = request.method in ("GET", "HEAD"), request.headers
    if wanted := given.get("if-match", ""):
        if not _names(wanted, tag, weakly=False):
            return _FAILED
    elif (since := _time(given.get("if-unmodified-since", ""))) is not None and modified > since:
        return _FAILED
    if known := given.get("if-none-match", ""):
        if _names(known, tag, weakly=True):
            return _NOT_MODIFIED if asks else _FAILED
    elif asks and (since := _time(given.get("if-modified-since", ""))) is not None and modified <= since:
        return _NOT_MODIFIED
    return 0


def _names(listed: str, tag: str, *, weakly: bool) -> bool:
    """Whether a list of entity tags has this one. An invalid tag ends the list."""
    for each in listed.split(","):
        said = each.strip()
        if said == "*":
            return True
        weak, strong = said.startswith("W/"), said.removeprefix("W/")
        if len(strong) < 2 or not strong.startswith('"') or not strong.endswith('"'):
            return False
        if strong == tag and (weakly or not weak):
            return True
    return False


def _time(text: str) -> float | None:
    """Seconds since the epoch; None for a text that is not an HTTP date."""
    try:
        return parsedate_to_datetime(text).timestamp() if text else None
    except (ValueError, OverflowError):
        return None
