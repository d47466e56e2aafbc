"""Creates the default RBAC roles at the start, and again when etcd was replaced by another one, which may be empty."""

from __future__ import annotations

import asyncio
import logging

from gateway.controllers.bootstrap import bootstrap, bootstrap_roles
from gateway.controllers.outages import Outage
from gateway.launch.patient import LOG_INTERVAL
from gateway.requests.parts import Gateway
from storage.errors import NoSpace, StorageError

logger = logging.getLogger(__name__)


class Roles:
    """Creates the default roles. RBAC decisions wait meanwhile, and /readyz reports that the roles are missing."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway, self._policy = gateway, gateway.services.policy
        self._outage = Outage(logger, "default roles could not be created yet")
        self._lacking = asyncio.Event()
        self._lacking.set()
        self._whole = False  # whether other bootstrap objects may be missing too
        gateway.feed.on_replacement(self._begin_anew)  # the feed of the etcd that stores the roles

    async def run(self, started: asyncio.Event) -> None:
        """Creates the roles once `started` is set, and whenever etcd was replaced. Administrators (system:masters) need
        no role, so they are served before.
        """
        await started.wait()
        while True:
            await self._lacking.wait()
            self._lacking.clear()
            made = False
            try:
                made = await self._make()
            finally:
                if not made:
                    self._lacking.set()
            if not made:
                await asyncio.sleep(LOG_INTERVAL)
            elif not self._lacking.is_set():
                self._policy.complete.set()

    def _begin_anew(self) -> None:
        """Notes that all bootstrap objects may be missing."""
        self._policy.complete.clear()
        self._whole = True
        self._lacking.set()

    async def _make(self) -> bool:
        try:
            if self._whole:
                await bootstrap(self._gateway.endpoints)
            await bootstrap_roles(self._gateway.endpoints)
            await self._gateway.store.reads.fresh()  # so that the policy has the new roles
        except NoSpace as error:
            self._policy.lacking, self._whole = f"not finished: {error}: {NoSpace.REMEDY}", True
            self._policy.complete.set()  # until etcd has space, the stored roles decide
            self._outage.failed(error)
            return False
        except (StorageError, OSError) as error:
            self._outage.failed(error)
            return False
        self._policy.lacking, self._whole = "", False
        self._outage.succeeded()
        return True
