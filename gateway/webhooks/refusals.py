"""Error messages for refused calls of other servers, in client-go's words."""

from __future__ import annotations

from gateway.jsontypes import dumps_plain
from gateway.schema.outside import read_object

_WORDS = {
    400: "the server rejected our request for an unknown reason",
    401: "the server has asked for the client to provide credentials",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    409: "the server reported a conflict",
    422: "the server rejected our request due to an error in our request",
    429: "the server has received too many requests and has asked us to try again later",
    503: "the server is currently unable to handle the request",
    504: "the server was unable to return a response in the time allotted, but may still be processing the request",
}
REASONS = {
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    406: "NotAcceptable",
    409: "Conflict",
    415: "UnsupportedMediaType",
    422: "Invalid",
    429: "TooManyRequests",
    503: "ServiceUnavailable",
    504: "Timeout",
}
_SERVERS_OWN = (403, 406, 415)
_LARGEST = 256 << 10  # bytes of a Status: reading it holds up others, and it is all message
_MOST = 2048  # bytes of the answer that are looked at for a message


def refusal(status: int, answer: bytes | bytearray, content_type: str = "") -> str:
    """The message for an answer that is not a success: that of a Status in it, else that of `words_of`."""
    if (said := _status_message(answer)) is not None:
        return said
    if content_type and not content_type.lstrip().lower().startswith("text/"):
        return words_of(status, "unknown")
    return words_of(status, answer[:_MOST].decode("utf-8", "replace").strip() or "unknown")


def words_of(status: int, text: str) -> str:
    """client-go's message for a status that is not a success. `text` is that of the answer; some messages quote it."""
    if status in _WORDS:
        return _WORDS[status]
    if status in _SERVERS_OWN:
        return text
    if status >= 500:
        return f"an error on the server ({dumps_plain(text).decode()}) has prevented the request from succeeding"
    return f"the server responded with the status code {status} but did not return more information"


def _status_message(answer: bytes | bytearray) -> str | None:
    found = read_object(answer, _LARGEST)
    if found is None or found.get("kind") != "Status" or found.get("status") == "Success":
        return None
    return str(found.get("message", ""))
