"""Ranges of sizes and costs, with the arithmetic of unsigned 64 bit numbers that stop at the largest one."""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

LARGEST = (1 << 64) - 1


class Range(NamedTuple):
    """From the least to the most that something may be."""

    least: int
    most: int

    def plus(self, other: Range) -> Range:
        """Both together."""
        return Range(_capped(self.least + other.least), _capped(self.most + other.most))

    def times(self, other: Range) -> Range:
        """One for each of the other."""
        return Range(_capped(self.least * other.least), _capped(self.most * other.most))

    def scaled(self, factor: float) -> Range:
        """So much for each."""
        return Range(_scaled(self.least, factor), _scaled(self.most, factor))

    def union(self, other: Range) -> Range:
        """What either may be."""
        return Range(min(self.least, other.least), max(self.most, other.most))


def fixed(size: int) -> Range:
    """Neither more nor less."""
    return Range(size, size)


def _capped(number: int) -> int:
    return LARGEST if number > LARGEST else number


def _scaled(number: int, factor: float) -> int:
    if not factor:
        return 0
    product = ceil(number * factor)
    return LARGEST if product >= LARGEST else product


NOTHING = fixed(0)
ONE = fixed(1)
UNKNOWN = Range(0, LARGEST)
EMPTY_UNION = Range(LARGEST, 0)
