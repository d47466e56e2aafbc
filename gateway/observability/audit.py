"""Audit's metrics, under kube-apiserver's names."""

from __future__ import annotations

from collections.abc import Mapping

from gateway.audit.counts import Counts

_PREFIX = "apiserver_audit_"


def lines(counts: Counts | None) -> list[str]:
    """Metrics as lines of Prometheus' text format; without audit nothing has been counted."""
    counts = counts or Counts()
    return [
        *_head("event_total", "Counter of audit events generated and sent to the audit backend."),
        f"{_PREFIX}event_total {counts.events}",
        *_by("error_total", "Counter of audit events that were lost, by what lost them.", "plugin", counts.errors),
        *_by("level_total", "Counter of policy levels, one a request.", "level", counts.levels),
        *_head("requests_rejected_total", "Counter of requests rejected because their events could not be kept."),
        f"{_PREFIX}requests_rejected_total {counts.rejected}",
    ]


def _head(name: str, help_: str) -> list[str]:
    return [f"# HELP {_PREFIX}{name} {help_}", f"# TYPE {_PREFIX}{name} counter"]


def _by(name: str, help_: str, label: str, found: Mapping[str, int]) -> list[str]:
    if not found:
        return []
    return [*_head(name, help_), *(f'{_PREFIX}{name}{{{label}="{each}"}} {found[each]}' for each in sorted(found))]
