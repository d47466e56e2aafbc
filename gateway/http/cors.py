"""Cross-origin requests of browsers (--cors-allowed-origins; the Fetch standard, "HTTP CORS protocol")."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from typing import Any

from gateway.http.exchange import Header
from gateway.http.messages import WHOLE
from gateway.http.send import Send

Application = Callable[[MutableMapping[str, Any], Callable[[], Awaitable[Any]], Send], Awaitable[None]]

_SAID: tuple[Header, ...] = (
    (b"access-control-allow-methods", b"POST, GET, OPTIONS, PUT, DELETE, PATCH"),
    (
        b"access-control-allow-headers",
        b"Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, X-Requested-With, "
        b"If-Modified-Since",
    ),
    (b"access-control-expose-headers", b"Date"),
    (b"access-control-allow-credentials", b"true"),
)


def with_cors(application: Application, origins: Sequence[str]) -> Application:
    """The application with CORS headers for the origins that match one of the regular expressions (in Go's syntax).

    A preflight request (OPTIONS) is answered here, because browsers send it without credentials.
    """
    import re2

    patterns = [re2.compile(each) for each in origins]

    async def answer(scope: MutableMapping[str, Any], receive: Callable[[], Awaitable[Any]], send: Send) -> None:
        origin = dict(reversed(scope["headers"])).get(b"origin", b"")
        text = origin.decode("ascii", "replace")
        if not text or not any(pattern.search(text) for pattern in patterns):
            await application(scope, receive, send)
            return
        said = [(b"access-control-allow-origin", origin), *_SAID]
        if scope["method"] == "OPTIONS":
            await send({"type": "http.response.start", "status": 204, "headers": said})
            await send({"type": "http.response.body", "body": b""})
            return

        async def adding(message: MutableMapping[str, Any]) -> None:
            if message["type"] in ("http.response.start", WHOLE):
                message["headers"] = [*said, *message.get("headers", ())]
            await send(message)

        await application(scope, receive, adding)

    return answer
