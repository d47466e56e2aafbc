"""Answers in plain text: those before negotiation, and those for paths that are not served."""

from __future__ import annotations

from gateway.http.exchange import TEXT_TYPE, Response

NO_SNIFF = (b"x-content-type-options", b"nosniff")
PAGE_NOT_FOUND = Response(404, b"404 page not found\n", TEXT_TYPE, [NO_SNIFF])


def internal_error(path: str, reason: str) -> Response:
    """500, as kube-apiserver answers what it could not decide."""
    message = f'Internal Server Error: "{path}": {reason}\n'
    return Response(500, message.encode("utf-8", "replace"), TEXT_TYPE, [NO_SNIFF])
