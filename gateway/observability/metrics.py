"""Connects the metrics that are computed at a scrape (/metrics) with the parts of a process whose state they report."""

from __future__ import annotations

from gateway.observability import audit, flowcontrol, identity, process, storage, workqueues
from gateway.requests.parts import Gateway


def follow(gateway: Gateway) -> None:
    """Makes the families report the state of this gateway, from now on."""
    process.follow(gateway.registry.release)
    identity.follow(gateway.registry.release)
    storage.follow(gateway)
    flowcontrol.follow(gateway.services.limiter)
    workqueues.follow(gateway.controllers.queues)
    if gateway.services.audit is not None:
        audit.follow(gateway.services.audit.counts)
