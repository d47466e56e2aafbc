"""Audit's metrics, under kube-apiserver's names."""

from __future__ import annotations

from gateway.audit.counts import Counts
from storage.instruments import counter

EVENTS = counter("apiserver_audit_event_total", "Audit events that were generated.")
ERRORS = counter("apiserver_audit_error_total", "Audit events that were lost, by plugin.", "plugin")
LEVELS = counter("apiserver_audit_level_total", "Requests by their level in the audit policy.", "level")
REJECTED = counter(
    "apiserver_audit_requests_rejected_total",
    "Requests that were refused because their audit event could not be written.",
)


def follow(counts: Counts) -> None:
    """Makes the families report these counts."""
    EVENTS.reads(lambda: {(): counts.events})
    ERRORS.reads(lambda: {(plugin,): number for plugin, number in counts.errors.items()})
    LEVELS.reads(lambda: {(level,): number for level, number in counts.levels.items()})
    REJECTED.reads(lambda: {(): counts.rejected})
