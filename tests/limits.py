"""Limits on time and memory, as assertions that a busy machine may not break.

Noise only ever adds. So a test that exceeds such a limit is run anew, twice at most (see pyproject.toml), and the limit
counts as broken where no run keeps it.
"""

from __future__ import annotations


class TooMuch(AssertionError):
    """More time or memory than a limit allows."""


def at_most(found: float, limit: float, words: str = "it took {found:.3f} s, {limit} s are allowed") -> None:
    """Raises TooMuch where `found` exceeds `limit`; `words` say so, with both in braces."""
    if found > limit:
        raise TooMuch(words.format(found=found, limit=limit))
