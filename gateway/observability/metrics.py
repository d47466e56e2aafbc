"""Connects the metrics that are computed at a scrape (/metrics) with the parts of a process whose state they report."""

from __future__ import annotations

from collections.abc import Mapping

from gateway.observability import audit, flowcontrol, identity, process, storage, workqueues
from gateway.release.metrics import forms
from gateway.requests.parts import Gateway
from storage.instruments.snapshot import Form, show


def follow(gateway: Gateway) -> None:
    """Makes the families report the state of this gateway, from now on."""
    show(lambda: _forms(gateway.registry.release.binary))
    process.follow(gateway.registry.release)
    identity.follow(gateway.registry.release)
    gateway.aggregation.follow()
    storage.follow(gateway)
    flowcontrol.follow(gateway.services.limiter)
    workqueues.follow(gateway.controllers.queues)
    if gateway.services.audit is not None:
        audit.follow(gateway.services.audit.counts)


def _forms(binary: str) -> Mapping[str, Form]:

    return forms(binary)
