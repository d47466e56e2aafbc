"""Sets the condition Dangling of FlowSchemas, which tells whether their priority level is missing."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator

from gateway.controllers.actor import Actor
from gateway.controllers.outages import Outage
from gateway.endpoints.table import EndpointTable
from gateway.flowcontrol.objects import GROUP, LEVELS, SCHEMAS
from gateway.http.status import StatusError
from gateway.http.user import ITSELF
from gateway.jsontypes import JsonObject
from gateway.kinds.metadata import now_text
from gateway.validation.field import go_quote
from storage.errors import StorageError
from storage.tap import tap

AGAIN = 5.0  # seconds until failed writes are tried again
MANAGER = "api-priority-and-fairness-config-consumer-v1"
DANGLING = "Dangling"

logger = logging.getLogger(__name__)


class FlowSchemaStatus:
    """Runs in every process, as in every kube-apiserver. A correct condition is not written again."""

    def __init__(self, endpoints: EndpointTable) -> None:
        self._actor = Actor(endpoints, ITSELF)
        self._cache = endpoints.services.store.cache
        self._schemas, self._levels = (endpoints.of(GROUP, "v1", name).cache for name in (SCHEMAS, LEVELS))
        self._outage = Outage(logger, "the status of a flow schema could not be written")

    async def run(self) -> None:
        """Keeps the conditions up to date until cancelled."""
        async for _ in tap(self._cache, [self._schemas, self._levels]):
            while not await self._write_outdated():
                await asyncio.sleep(AGAIN)

    async def _write_outdated(self) -> bool:
        """Writes outdated conditions. Returns whether all writes succeeded."""
        (schemas, levels), all_written = self._objects(), True
        for name, condition in outdated(schemas, {each["metadata"]["name"] for each in levels}):
            try:
                await self._tell(name, condition)
            except (StatusError, StorageError) as error:
                self._outage.failed(error)
                all_written = False
            else:
                self._outage.succeeded()
        return all_written

    def _objects(self) -> tuple[list[JsonObject], list[JsonObject]]:
        both = (cache.slice(0, len(cache)) for cache in (self._schemas, self._levels))
        schemas, levels = ([each.readable.parsed() for each in found if each.readable] for found in both)
        return schemas, levels

    async def _tell(self, name: str, condition: JsonObject) -> None:
        endpoint = self._actor.of(GROUP, "v1", SCHEMAS, "status")
        status = {"conditions": [{**condition, "lastTransitionTime": now_text()}]}
        await self._actor.apply(endpoint, "", name, {"status": status}, MANAGER)


def outdated(schemas: list[JsonObject], levels: set[str]) -> Iterator[tuple[str, JsonObject]]:
    """The names of flow schemas with a wrong or missing condition, each with the right one."""
    for schema in schemas:
        level = (schema.get("spec") or {}).get("priorityLevelConfiguration", {}).get("name", "")
        intro = f"This FlowSchema references the PriorityLevelConfiguration object named {go_quote(level)}"
        if level in levels:
            wanted = {"type": DANGLING, "status": "False", "reason": "Found", "message": f"{intro} and it exists"}
        else:
            message = f"{intro} but there is no such object"
            wanted = {"type": DANGLING, "status": "True", "reason": "NotFound", "message": message}
        conditions = (schema.get("status") or {}).get("conditions") or ()
        if not any(wanted.items() <= condition.items() for condition in conditions):
            yield schema["metadata"]["name"], wanted
