"""Stores the shared identity (--identity-key-file) again when etcd was replaced by another one, which may be empty.

Otherwise the next replica that starts would generate its own identity, and refuse the tokens of the other replicas.
"""

from __future__ import annotations

import asyncio
import logging

from gateway.controllers.outages import Outage
from gateway.launch.patient import LOG_INTERVAL
from gateway.launch.preflight import identity_secret
from gateway.requests.parts import Gateway
from storage.errors import StorageError

logger = logging.getLogger(__name__)


class IdentityStore:
    """Stores the identity that the replicas of an etcd share."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._lacking = asyncio.Event()
        self._outage = Outage(logger, "the identity of --identity-key-file could not be stored again in etcd")
        gateway.feed.on_replacement(self._lacking.set)

    async def run(self) -> None:
        """Whenever etcd was replaced: tries to store the identity until it is stored."""
        while True:
            await self._lacking.wait()
            self._lacking.clear()
            if not await self._is_stored():
                self._lacking.set()
                await asyncio.sleep(LOG_INTERVAL)

    async def _is_stored(self) -> bool:
        from gateway.credentials.identity import IdentityError, store_again

        settings = self._gateway.settings
        assert settings.identity_key_file is not None
        try:
            secret = identity_secret(settings.identity_key_file)
            await store_again(settings, self._gateway.services.database.client, secret)
        except IdentityError as error:
            logger.error("replicas do not share one identity: %s", error)
            return True  # another attempt would fail too
        except (StorageError, OSError) as error:
            self._outage.failed(error)
            return False
        self._outage.succeeded()
        return True
