"""The number of examples that a property test tries."""

from __future__ import annotations

from hypothesis import settings


def searching() -> bool:
    """Whether the Hypothesis profile searches for new failures. The gate tries the same examples each time."""
    return not settings().derandomize


def examples(count: int, *, costs: int = 1) -> int:
    """The given number in the gate. In a search, the profile's number, reduced by `costs` if one example takes long."""
    return max(count, settings().max_examples // costs) if searching() else count
