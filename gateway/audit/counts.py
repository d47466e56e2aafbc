"""The counts of audit, for its metrics (apiserver's `pkg/audit/metrics.go`)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass(slots=True)
class Counts:
    """The counts of one process. Several threads change them, which relies on the interpreter's lock (GIL)."""

    events: int = 0  # events that were made, also lost ones
    rejected: int = 0  # requests that failed because their events were not written
    levels: Counter[str] = field(default_factory=Counter)  # requests by the policy's level
    errors: Counter[str] = field(default_factory=Counter)  # lost events, by the part that lost them
