"""Answers requests to a control plane that do not concern objects: health checks, version, OpenAPI, keys of its tokens.

The root alone serves paths about the process, such as /metrics and profiles. The testing API and the recorder of a
control plane show this control plane alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, MutableMapping
from typing import TYPE_CHECKING, Any

from gateway.http.exchange import TEXT_TYPE
from gateway.http.send import Send
from gateway.observability.probes import Probes
from gateway.operations.trials import Trials
from gateway.requests.context import Receive
from gateway.requests.parts import Gateway
from gateway.requests.plain_answers import NO_SNIFF

if TYPE_CHECKING:
    from gateway.operations.framework import FastAPI

_HEALTH = frozenset({"/healthz", "/livez", "/readyz"})
_CHECKS = tuple(_HEALTH)
HEALTH = frozenset(each.encode() for each in _HEALTH)
_OK = b"ok"


class OwnOperations:
    """An ASGI application. It always reports health, because a control plane that answers has been loaded."""

    def __init__(self, gateway: Gateway, probes: Callable[[Gateway], Probes]) -> None:
        """`probes` makes the Probes. They answer paths of single checks, and queries that exclude checks."""
        self._gateway, self._make = gateway, probes
        self._probes: Probes | None = None
        self._trials: Trials | None = None
        if gateway.settings.testing_api:
            self._trials = Trials(gateway, lambda: None, below=True)
        self._app: FastAPI | None = None
        self._making: asyncio.Task[FastAPI] | None = None

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["path"] in _HEALTH and not scope["query_string"]:
            headers = [NO_SNIFF, (b"content-length", b"%d" % len(_OK)), (b"content-type", TEXT_TYPE)]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": _OK})
            return
        if self._trials is not None and await self._trials.answered(scope, receive, send):
            return
        if scope["path"].startswith(_CHECKS) and await self._checks().answered(scope, send):
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

    def _checks(self) -> Probes:
        if self._probes is None:
            self._probes = self._make(self._gateway)
        return self._probes

    def _paths(self) -> list[str]:
        return [*self._gateway.discovery.paths(), *self._checks().paths()]


def _import_all() -> None:
    import gateway.operations.openapi
    import gateway.operations.routes  # noqa: F401
