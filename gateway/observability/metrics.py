"""What /metrics answers: the families of all modules, those that are read off the running parts among them."""

from __future__ import annotations

from gateway.observability import audit, flowcontrol, process, storage, workqueues
from gateway.requests.parts import Gateway


def follow(gateway: Gateway) -> None:
    """Has the families tell what this gateway does, from now on."""
    process.follow()
    storage.follow(gateway)
    flowcontrol.follow(gateway.services.limiter)
    workqueues.follow(lambda: gateway.controllers.queues() if gateway.controllers else ())
    if gateway.services.audit is not None:
        audit.follow(gateway.services.audit.counts)
