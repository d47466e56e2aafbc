"""Answers requests to a control plane that are for no object: health, version, OpenAPI and the keys of its tokens.

What tells of the process or of other control planes, such as /metrics and profiles, is served by the root only.
"""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Any

from gateway.http.exchange import TEXT_TYPE
from gateway.http.send import Send
from gateway.requests.context import Receive
from gateway.requests.parts import Gateway
from gateway.requests.plain_answers import NO_SNIFF

if TYPE_CHECKING:
    from gateway.operations.framework import FastAPI

_HEALTH = frozenset({"/healthz", "/livez", "/readyz"})
HEALTH = frozenset(each.encode() for each in _HEALTH)
_OK = b"ok"


class OwnOperations:
    """An ASGI application. A control plane that answers is healthy: it was loaded first."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._app: FastAPI | None = None
        self._making: asyncio.Task[FastAPI] | None = None

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["path"] in _HEALTH:
            headers = [NO_SNIFF, (b"content-length", b"%d" % len(_OK)), (b"content-type", TEXT_TYPE)]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": _OK})
            return
        app = self._app
        if app is None:
            if self._making is None or self._making.done():
                self._making = asyncio.create_task(self._made(), name="routes of a control plane")
            app = self._app = await asyncio.shield(self._making)
        await app(scope, receive, send)

    async def _made(self) -> FastAPI:
        await asyncio.to_thread(_import_all)  # so that the import does not block the event loop
        from gateway.operations.routes import described_only

        return described_only(self._gateway, self._paths)

    def _paths(self) -> list[str]:
        return [*self._gateway.discovery.paths(), *_HEALTH]


def _import_all() -> None:
    import gateway.operations.openapi
    import gateway.operations.routes  # noqa: F401
