"""What /metrics answers: the families of all modules, those that are read off the running parts among them."""

from __future__ import annotations

from gateway.observability import audit, flowcontrol, identity, process, storage, workqueues
from gateway.requests.parts import Gateway


def follow(gateway: Gateway) -> None:
    """Makes the families report what this gateway does, from now on."""
    process.follow(gateway.registry.release)
    identity.follow(gateway.registry.release)
    storage.follow(gateway)
    flowcontrol.follow(gateway.services.limiter)
    workqueues.follow(gateway.controllers.queues)
    if gateway.services.audit is not None:
        audit.follow(gateway.services.audit.counts)
