"""Control planes for tests in any language: one request of the testing API makes one, and answers how to reach it."""

from __future__ import annotations

import asyncio
from base64 import b64decode
from collections.abc import Awaitable, Callable
from uuid import uuid4

from gateway.clusters.definition import GROUP, PLURAL, READY, VERSION, ClusterDefinition
from gateway.clusters.secrets import NAMESPACE, name_of
from gateway.clusters.table import Table
from gateway.http.status import StatusError, already_exists, not_found
from gateway.http.user import ITSELF
from gateway.jsontypes import JsonObject
from gateway.kinds.identity import GroupVersionResource
from gateway.requests.parts import Gateway
from gateway.writing.actor import Actor
from gateway.writing.options import DeleteOptions

_READY_TIMEOUT = 60.0  # seconds
_KEPT = "token", "kubeconfig"


class ForTests:
    """Makes and deletes control planes, as users of the root do by their objects."""

    def __init__(self, root: Gateway, table: Table) -> None:
        self._root, self._table = root, table
        self._actor = Actor(root.endpoints, ITSELF, manager="apiserver-gateway")

    async def make(self, name: str, version: str = "") -> JsonObject:
        """Makes a control plane and waits until it answers; "" stands for a new, random name, and for the version of
        the server. Returns its name, its URL, its administrator's token and a kubeconfig. Raises StatusError,
        StorageError.
        """
        name = name or f"test-{uuid4().hex[:12]}"
        try:
            async with asyncio.timeout(_READY_TIMEOUT):
                await self._table.ready.wait()
                obj: JsonObject = {"metadata": {"name": name}, "spec": {"version": version} if version else {}}
                if await self._actor.create(self._actor.of(GROUP, VERSION, PLURAL), "", obj) is None:
                    raise already_exists(GROUP, PLURAL, name)
                await self._until(lambda: self._table.described(name), name)
        except TimeoutError:
            raise StatusError(504, "Timeout", "the control plane could not be made in time") from None
        secrets = GroupVersionResource("", "v1", "secrets")
        secret = await self._root.services.admission.objects.get(secrets, NAMESPACE, name_of(name))
        data = {} if secret is None else secret["data"]
        told = {each: b64decode(data.get(each, "")).decode() for each in _KEPT}
        return {"name": name, "url": self._table.url_of(name), **told}

    async def delete(self, name: str) -> None:
        """Deletes a control plane. Raises StatusError, StorageError."""
        if self._table.described(name) is None:
            raise not_found(GROUP, PLURAL, name)
        await self._actor.delete(self._actor.of(GROUP, VERSION, PLURAL), "", name, DeleteOptions())

    async def each(self, act: Callable[[Gateway], Awaitable[None]]) -> None:
        """Does something with the gateway of each one that is in memory. Raises StorageError."""
        for row in self._table:
            if (awake := row.awake) is not None:
                with awake.serving():
                    await act(awake.gateway)

    async def _until(self, described: Callable[[], ClusterDefinition | None], name: str) -> None:
        """Waits until a control plane is ready. Raises StatusError 404 if it is deleted meanwhile."""
        cache, found = self._actor.of(GROUP, VERSION, PLURAL).cache, described()
        seen = found is not None
        while found is None or found.phase != READY:
            if seen and found is None:
                raise not_found(GROUP, PLURAL, name)
            waiter = cache.changes()
            try:
                await waiter
            finally:
                cache.forget(waiter)
            found = described()
            seen = seen or found is not None
