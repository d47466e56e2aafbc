"""How many examples a property test tries."""

from __future__ import annotations

from hypothesis import settings


def searching() -> bool:
    """Whether the profile looks for what the gate, which goes the same ways each time, does not find."""
    return not settings().derandomize


def examples(count: int, *, costs: int = 1) -> int:
    """So many in the gate; in a search as many as its profile says, fewer where one `costs` more than others."""
    return max(count, settings().max_examples // costs) if searching() else count
