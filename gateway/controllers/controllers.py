"""Runs the controllers while this process is the leader: makes them, passes them changes, runs their queues."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from gateway.controllers.actor import Actor, controller_user
from gateway.controllers.delivery_count import DeliveryCount
from gateway.controllers.table import CONTROLLERS, wanted
from gateway.endpoints.table import EndpointTable
from gateway.http.user import ITSELF
from gateway.task_group import TaskGroup
from gateway.work_queue import WorkQueue, work
from storage.errors import StorageError
from storage.fence import Fence

if TYPE_CHECKING:  # imported later, so that the server starts faster
    from gateway.controllers.controller import Controller
    from gateway.controllers.observer import Observer


MOST_WORKERS = 1 << 10
FOLLOWS = "generic-garbage-collector"  # the service account that watches objects of extension API servers


class Controllers:
    """The controllers that --controllers selects."""

    def __init__(self, endpoints: EndpointTable, stopping: asyncio.Event) -> None:
        """Raises InvalidSettings for an unknown controller."""
        self._endpoints, self._stopping = endpoints, stopping
        self._names = wanted(endpoints.services.settings.controllers)
        self._begun = False
        self._made: Sequence[Controller] = ()
        self._observers: list[Observer] = []  # has one element while they run
        self.most_workers = MOST_WORKERS  # of one queue
        self.beside: list[Callable[[Fence], Coroutine[Any, Any, None]]] = []
        endpoints.on_change(self._kinds_changed)

    @property
    def undecided(self) -> bool:
        """Whether this process does not run the wanted controllers, or has not started yet."""
        return not self._begun or (bool(self._names) and not self._made)

    @property
    def have_state(self) -> bool:
        """Whether the controllers run, and have got the present state."""
        return bool(self._made) and all(each.complete.is_set() for each in self._observers)

    @property
    def have_looked(self) -> bool:
        """Whether the controllers run, have got the present state, and have nothing to do, later neither."""
        observed = all(each.complete.is_set() and each.idle for each in self._observers)
        return bool(self._made) and observed and all(queue.idle for queue in self.queues())

    def queues(self) -> list[WorkQueue[object]]:
        """The queues of the controllers that run in this process."""
        return [each.queue for made in self._made for each in made.works()]

    async def run(self) -> None:
        """Runs the controllers whenever this process is the leader, until the process stops."""
        self._begun = True
        if self._names:
            from gateway.controllers.election import Election

            actor = Actor(self._endpoints, ITSELF, manager="apiserver-gateway")
            await Election(actor, self._stopping).run(self.lead)

    async def lead(self, fence: Fence) -> None:
        """Runs the controllers, and what is `beside` them, while this process holds the key of the fence; until
        cancelled.
        """
        from gateway.controllers.controller import ControllerParts
        from gateway.controllers.election import LEASES
        from gateway.controllers.observer import Observer

        services = self._endpoints.services
        holder, telling = self._endpoints.of(*LEASES).database, DeliveryCount()
        fenced = {
            each.store: each.store.fenced(fence, None if each is holder else holder.client)
            for each in services.databases
        }
        for store in fenced.values():
            with suppress(StorageError):  # if it fails, the first write to that etcd does it
                await store.occupy()
        parts = ControllerParts(
            services.settings,
            lambda account: Actor(self._endpoints, controller_user(account), fenced),
            telling,
        )
        made = [CONTROLLERS[name].make(parts) for name in self._names]
        observer, foreign = Observer(self._endpoints, made, telling), self._endpoints.services.foreign_objects
        self._made, self._observers = made, [observer]
        end = foreign.on_change(self._kinds_changed)
        try:
            async with TaskGroup() as group:
                for lead in self.beside:
                    group.create_task(lead(fence))
                group.create_task(observer.run())
                group.create_task(foreign.run(made, controller_user(FOLLOWS)))
                await observer.complete.wait()  # with half of the state, owners would seem to have no dependents
                for each in made:
                    for queue, reconcile, workers in each.works():
                        group.create_task(work(queue, reconcile, min(workers, self.most_workers)))
        finally:
            end()
            self._made, self._observers = (), []

    def authorities_changed(self) -> None:
        """Tells the controllers that run that the file of the serving certificate's CA has changed."""
        for each in self._made:
            each.authorities_changed()

    def _kinds_changed(self) -> None:
        for observer in self._observers:
            observer.attach()
        for each in self._made:
            each.kinds_changed()
