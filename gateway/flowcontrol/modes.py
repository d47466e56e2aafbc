"""Chooses the limiter of requests by the flags."""

from __future__ import annotations

from gateway.flowcontrol.configuration import FlowConfiguration
from gateway.flowcontrol.limiter import FlowControl, InFlight, Limiter
from gateway.flowcontrol.watches import OpenWatches
from gateway.flowcontrol.work import Sizes
from gateway.settings.config import Settings


def limiter_of(settings: Settings, sizes: Sizes, watches: OpenWatches) -> Limiter:
    """The limiter of --enable-priority-and-fairness and the --max-…-inflight flags."""
    reads, writes = settings.max_requests_inflight, settings.max_mutating_requests_inflight
    if settings.enable_priority_and_fairness:
        return FlowControl(FlowConfiguration(reads + writes), sizes, watches.interested)
    return InFlight(reads, writes)
