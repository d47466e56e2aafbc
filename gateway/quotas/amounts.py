"""Arithmetic of amounts by resource name, such as a quota's `hard` and `used` ("Resource Quotas")."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from gateway.schema.quantity import Quantity, SuffixFamily
from gateway.validation.quantities import quantity_of

Amounts = Mapping[str, Quantity]

ONE, ZERO = Quantity(1), Quantity(0)
MOST_DIGITS = 60
"""A larger amount counts as 10**MOST_DIGITS. So sums stay exact, and what was added can be subtracted again."""


def amounts_of(texts: Mapping[str, Any] | None) -> dict[str, Quantity]:
    """The amounts of a `hard`, a `used` or a container's requests, parsed."""
    return {name: quantity_of(text) for name, text in (texts or {}).items()}


def written(amounts: Amounts) -> dict[str, str]:
    """Amounts as in JSON: texts of quantities, sorted by name."""
    return {name: str(amounts[name]) for name in sorted(amounts)}


def bounded(amount: Quantity) -> Quantity:
    """The amount, or the greatest one that is counted exactly."""
    digits = len(str(abs(amount.unscaled))) if abs(amount.unscaled) < 10**MOST_DIGITS else MOST_DIGITS + 1
    if digits + amount.scale <= MOST_DIGITS:
        return amount
    most: int = 10**MOST_DIGITS
    return Quantity(most if amount.unscaled >= 0 else -most, 0, SuffixFamily.DECIMAL, large=True)


def plus(one: Amounts, other: Amounts) -> dict[str, Quantity]:
    """The sum, by name."""
    total = dict(one)
    for name, amount in other.items():
        total[name] = total[name] + amount if name in total else amount
    return total


def greatest(one: Amounts, other: Amounts) -> dict[str, Quantity]:
    """The greater of the two amounts of each name."""
    found = dict(one)
    for name, amount in other.items():
        if name not in found or amount > found[name]:
            found[name] = amount
    return found


def increase(new: Amounts, old: Amounts) -> dict[str, Quantity]:
    """By how much each amount has grown; zero where it has not."""
    grown = {name: amount - old[name] if name in old else amount for name, amount in new.items()}
    return {name: amount if amount.unscaled > 0 else ZERO for name, amount in grown.items()}


def without_zeros(amounts: Amounts) -> dict[str, Quantity]:
    """The amounts that are not zero."""
    return {name: amount for name, amount in amounts.items() if amount.unscaled}


def only(amounts: Amounts, names: Collection[str]) -> dict[str, Quantity]:
    """The amounts of some names."""
    return {name: amount for name, amount in amounts.items() if name in names}


def same(one: Amounts, other: Amounts) -> bool:
    """Whether both have the same names with the same amounts."""
    return one.keys() == other.keys() and all(amount == other[name] for name, amount in one.items())


def shown(amounts: Amounts) -> str:
    """As messages have it: `cpu=1,pods=2`."""
    return ",".join(f"{name}={amounts[name]}" for name in sorted(amounts))


def shown_names(names: Iterable[str]) -> str:
    """As messages have it: `cpu,pods`."""
    return ",".join(sorted(names))
