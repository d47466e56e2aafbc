"""What audit counts, for its metrics (apiserver's `pkg/audit/metrics.go`)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass(slots=True)
class Counts:
    """Counts of one process; to be changed under the interpreter's lock only."""

    events: int = 0  # that were made, whatever became of them
    rejected: int = 0  # requests that could not go on without their events
    levels: Counter[str] = field(default_factory=Counter)  # of the policy, one a request
    errors: Counter[str] = field(default_factory=Counter)  # events that were lost, by the part that lost them
