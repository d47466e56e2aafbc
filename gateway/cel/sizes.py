"""Ranges of sizes and costs. The arithmetic is that of unsigned 64-bit numbers; it saturates instead of overflowing."""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

LARGEST = (1 << 64) - 1


class SizeRange(NamedTuple):
    """A least and a greatest size or cost."""

    least: int
    most: int

    def plus(self, other: SizeRange) -> SizeRange:
        """The sum of two ranges."""
        return SizeRange(_capped(self.least + other.least), _capped(self.most + other.most))

    def times(self, other: SizeRange) -> SizeRange:
        """The product of two ranges."""
        return SizeRange(_capped(self.least * other.least), _capped(self.most * other.most))

    def scaled(self, factor: float) -> SizeRange:
        """The range times a factor, rounded up."""
        return SizeRange(_scaled(self.least, factor), _scaled(self.most, factor))

    def union(self, other: SizeRange) -> SizeRange:
        """The smallest range that has both."""
        return SizeRange(min(self.least, other.least), max(self.most, other.most))


def fixed(size: int) -> SizeRange:
    """The range of exactly one size."""
    return SizeRange(size, size)


def _capped(number: int) -> int:
    return LARGEST if number > LARGEST else number


def _scaled(number: int, factor: float) -> int:
    if not factor:
        return 0
    product = ceil(number * factor)
    return LARGEST if product >= LARGEST else product


NOTHING = fixed(0)
ONE = fixed(1)
UNKNOWN = SizeRange(0, LARGEST)
EMPTY_UNION = SizeRange(LARGEST, 0)
