"""Answers in plain text: errors before content negotiation, and 404 for paths that are not served."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gateway.http.escapes import html_escaped
from gateway.http.exchange import TEXT_TYPE, Response
from gateway.validation.field import go_quote

NO_SNIFF = (b"x-content-type-options", b"nosniff")
PAGE_NOT_FOUND = Response(404, b"404 page not found\n", TEXT_TYPE, [NO_SNIFF])


def request_uri(scope: Mapping[str, Any]) -> str:
    """The path and query of a request, as the client sent them."""
    path, query = scope["raw_path"].decode("utf-8", "replace"), scope["query_string"].decode("utf-8", "replace")
    return f"{path}?{query}" if query else path


def internal_error(uri: str, reason: str) -> Response:
    """The answer 500 of kube-apiserver to a request about which it could not decide."""
    message = html_escaped(f"Internal Server Error: {go_quote(uri)}: {reason}\n")
    return Response(500, message.encode("utf-8", "replace"), TEXT_TYPE, [NO_SNIFF])
