"""Divides the server's seats among priority levels, with borrowing between them (KEP-1040)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

_LEAST = 0.001  # smaller targets count as this
_ROUNDS = 60  # of bisection for the fair proportion: more precise than a float


@dataclass(frozen=True, slots=True)
class SeatLimits:
    """The seats of a level: its own, those that it keeps when it lends, and the most that it has when it borrows."""

    nominal: int
    least: int
    most: int


def nominal_limits(server: int, shares: int, total: int, lendable: int, borrowing: int | None) -> SeatLimits:
    """The limits that a level's spec gives it. Percentages are of its nominal limit; None borrows without a limit."""
    nominal = math.ceil(server * shares / total) if total else 0
    lent = math.floor(nominal * lendable / 100 + 0.5)
    borrowed = server if borrowing is None else math.floor(nominal * borrowing / 100 + 0.5)
    return SeatLimits(nominal, nominal - lent, nominal + borrowed)


@dataclass(frozen=True, slots=True)
class SeatClaim:
    """The seats that a level must get, should get and may get."""

    least: float
    target: float
    most: float


def divided(seats: int, claims: Sequence[SeatClaim]) -> list[float]:
    """Seats for each claim, in proportion to the targets as far as bounds allow it, together `seats` if possible."""
    if seats <= sum(claim.least for claim in claims):
        return [claim.least for claim in claims]
    if seats >= sum(claim.most for claim in claims):
        return [claim.most for claim in claims]
    low, high = 0.0, max(claim.most / max(claim.target, _LEAST) for claim in claims)
    for _ in range(_ROUNDS):
        middle = (low + high) / 2
        if sum(_at(middle, claim) for claim in claims) < seats:
            low = middle
        else:
            high = middle
    return [_at(high, claim) for claim in claims]


def _at(proportion: float, claim: SeatClaim) -> float:
    return max(claim.least, min(claim.most, proportion * max(claim.target, _LEAST)))
