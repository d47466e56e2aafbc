"""Audit's metrics, under kube-apiserver's names."""

from __future__ import annotations

from gateway.audit.counts import Counts
from storage.instruments import counter

EVENTS = counter("apiserver_audit_event_total", "Audit events that were made.")
ERRORS = counter("apiserver_audit_error_total", "Audit events that were lost, by what lost them.", "plugin")
LEVELS = counter("apiserver_audit_level_total", "Levels of the audit policy, one a request.", "level")
REJECTED = counter("apiserver_audit_requests_rejected_total", "Requests that could not go on without their events.")


def follow(counts: Counts) -> None:
    """Has the families tell what is counted there."""
    EVENTS.reads(lambda: {(): counts.events})
    ERRORS.reads(lambda: {(plugin,): number for plugin, number in counts.errors.items()})
    LEVELS.reads(lambda: {(level,): number for level, number in counts.levels.items()})
    REJECTED.reads(lambda: {(): counts.rejected})
