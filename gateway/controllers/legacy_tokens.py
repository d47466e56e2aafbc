"""Labels the secrets of legacy service account tokens with the day of their last use. Runs in each process."""

from __future__ import annotations

import logging

from gateway.access.legacy_uses import labelled
from gateway.controllers.actor import Actor
from gateway.endpoints.table import EndpointTable
from gateway.http.status import StatusError
from gateway.http.user import ITSELF
from storage.errors import StorageError

logger = logging.getLogger(__name__)


async def label_used_tokens(endpoints: EndpointTable) -> None:
    """Labels secrets until cancelled. A write that fails is repeated at the token's next use."""
    actor = Actor(endpoints, ITSELF, manager="kube-apiserver")
    while True:
        namespace, name = await endpoints.services.legacy_uses.next()
        try:
            await actor.change(actor.of("", "v1", "secrets"), namespace, name, labelled)
        except (StatusError, StorageError) as error:
            logger.warning("a used token's secret cannot be labelled: %s", error)
