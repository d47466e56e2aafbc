"""The controllers of a process while it leads: made anew each time, told what happens, working until cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from gateway.controllers.actor import Actor, controller_user
from gateway.controllers.controller import Controller, Parts
from gateway.controllers.election import Election
from gateway.controllers.observing import Observer
from gateway.controllers.queue import WorkQueue, work
from gateway.controllers.table import CONTROLLERS, wanted
from gateway.endpoints.table import Endpoints
from gateway.http.user import ITSELF
from storage.fence import Fence


class Controllers:
    """The controllers that --controllers asks for. Raises InvalidSettings for what there is not."""

    def __init__(self, endpoints: Endpoints, stopping: asyncio.Event) -> None:
        self._endpoints = endpoints
        self._names = wanted(endpoints.services.settings.controllers)
        self._election = Election(Actor(endpoints, ITSELF, manager="apiserver-gateway"), stopping)
        self._made: Sequence[Controller] = ()
        self._observer: Observer | None = None
        endpoints.on_change(self._kinds_changed)

    @property
    def leading(self) -> bool:
        """Whether they run in this process."""
        return self._election.leading

    @property
    def undecided(self) -> bool:
        """Whether there are some, and they do not run in this process: not yet, or in another."""
        return bool(self._names) and not self._made

    def queues(self) -> list[WorkQueue[object]]:
        """The queues of those that run here."""
        return [each.queue for made in self._made for each in made.works()]

    async def run(self) -> None:
        """Runs them whenever it is this process' turn, until it stops."""
        if self._names:
            await self._election.run(self._lead)

    async def _lead(self, fence: Fence) -> None:
        store = self._endpoints.services.store.fenced(fence)
        parts = Parts(
            self._endpoints.services.settings,
            lambda account: Actor(self._endpoints, controller_user(account), store),
        )
        made = [CONTROLLERS[name].make(parts) for name in self._names]
        observer = Observer(self._endpoints, made)
        self._made, self._observer = made, observer
        try:
            async with asyncio.TaskGroup() as group:
                for each in made:
                    for queue, reconcile, workers in each.works():
                        group.create_task(work(queue, reconcile, workers))
                group.create_task(observer.run())
        finally:
            self._made, self._observer = (), None

    def _kinds_changed(self) -> None:
        if self._observer is not None:
            self._observer.attach()
        for each in self._made:
            each.kinds_changed()
