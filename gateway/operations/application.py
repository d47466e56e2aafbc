"""The operational routes: those of health, and a FastAPI application of the others, made at the first request for one.

The import of FastAPI and pydantic takes two fifths of the time of a start, and a sixth of the memory after it. Servers
whose clients only ask for objects and health do not need it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gateway.http.send import Send
from gateway.observability.probes import Probes
from gateway.observability.siblings import SiblingProcesses
from gateway.operations.trials import Trials
from gateway.requests.parts import Gateway

if TYPE_CHECKING:
    from gateway.operations.framework import FastAPI
    from gateway.trials.testing_api import Clusters


class OperationsApplication:
    """Answers health, version, metrics, OpenAPI and the rest that is not under /api and /apis; an ASGI application."""

    def __init__(
        self,
        gateway: Gateway,
        siblings: SiblingProcesses,
        hooks: Sequence[str],
        checks: Mapping[str, Callable[[], str]],
    ) -> None:
        """`hooks` are the names of the post-start hooks. `checks` are further health checks by name: each returns what
        is wrong, "" if it is healthy.
        """
        self._gateway, self._siblings, self._probes = gateway, siblings, Probes(gateway, hooks, checks)
        self._app: FastAPI | None = None
        self._making: asyncio.Task[FastAPI] | None = None
        self.clusters: Clusters | None = None  # set with --control-planes
        self._trials: Trials | None = None
        if gateway.settings.testing_api or gateway.settings.recorder:
            self._trials = Trials(gateway, lambda: self.clusters)

    def begin(self) -> None:
        """Starts the recorder, if it is configured."""
        if self._trials is not None:
            self._trials.begin()

    async def __call__(self, scope: Any, receive: Any, send: Send) -> None:
        if self._trials is not None and await self._trials.answered(scope, receive, send):
            return
        if await self._probes.answered(scope, send):
            return
        app = self._app
        if app is None:
            if self._making is None or self._making.done():
                self._making = asyncio.create_task(self._made(), name="routes of operation")
            app = self._app = await asyncio.shield(self._making)  # requests that come meanwhile wait for the same task
        await app(scope, receive, send)

    def _paths(self) -> list[str]:
        return [*self._gateway.discovery.paths(), *self._probes.paths()]

    async def _made(self) -> FastAPI:
        await asyncio.to_thread(_import_all)  # so that the import does not block the event loop
        from gateway.operations.framework import FastAPI
        from gateway.operations.openapi import openapi
        from gateway.operations.routes import answer_strays, operations

        gateway = self._gateway
        app = FastAPI(
            title="apiserver-gateway", openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False
        )
        answer_strays(app)
        app.include_router(operations(gateway, self._siblings, self._paths))
        app.include_router(openapi(gateway.registry, gateway.endpoints.on_change, gateway.aggregation.described))
        return app


def _import_all() -> None:
    import gateway.operations.openapi
    import gateway.operations.routes  # noqa: F401
