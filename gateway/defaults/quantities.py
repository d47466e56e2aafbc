"""Arithmetic on canonical resource quantities, as far as defaulting needs it: rounding up, adding, comparing.

Source: Kubernetes API reference, "Quantity". A sum keeps the notation of its first non-zero term.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from enum import Enum
from typing import NamedTuple

from gateway.jsontypes import JsonObject

_NANO = 10**9
_MILLI_IN_NANOS = 10**6


class Notation(Enum):
    """How a quantity is written."""

    DECIMAL = "decimal suffixes"
    BINARY = "binary suffixes"
    EXPONENT = "decimal exponent"


class Amount(NamedTuple):
    """A quantity as a number of nanos, the finest unit there is, and its notation."""

    nanos: int
    notation: Notation


_DECIMAL_POWER = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_DECIMAL_SUFFIX = {power: suffix for suffix, power in _DECIMAL_POWER.items()}
_BINARY_SUFFIXES = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


def round_up(resources: JsonObject) -> None:
    """Rounds the quantities of a resource list up to thousandths, in place."""
    for name, text in resources.items():
        if text[-1:] in "nu" or "e-" in text:
            resources[name] = render(_to_milli(parse(text)))


def parse(text: str) -> Amount:
    """The amount that a canonical quantity stands for."""
    if text.endswith("i"):
        factor = 1024 ** _BINARY_SUFFIXES.index(text[-2:])
        return Amount(int(Decimal(text[:-2]) * factor * _NANO), Notation.BINARY)
    if "e" in text:
        number, _, exponent = text.partition("e")
        return Amount(int(Decimal(number).scaleb(int(exponent) + 9)), Notation.EXPONENT)
    suffix = text[-1:] if text[-1:] in _DECIMAL_POWER else ""
    return Amount(int(Decimal(text.removesuffix(suffix)).scaleb(_DECIMAL_POWER[suffix] + 9)), Notation.DECIMAL)


def render(amount: Amount) -> str:
    """The canonical text of an amount: the largest suffix that leaves no fraction."""
    nanos, notation = amount
    if nanos == 0:
        return "0"
    if notation is Notation.BINARY and nanos % _NANO == 0 and abs(nanos) >= 1024 * _NANO:
        return _render_binary(nanos // _NANO)
    power = -9
    while nanos % 1000 == 0 and power < 18:
        nanos //= 1000
        power += 3
    if notation is Notation.EXPONENT:
        return f"{nanos}e{power}" if power else str(nanos)
    return f"{nanos}{_DECIMAL_SUFFIX[power]}"


def _render_binary(number: int) -> str:
    step = 0
    while number % 1024 == 0 and step < len(_BINARY_SUFFIXES) - 1:
        number //= 1024
        step += 1
    return f"{number}{_BINARY_SUFFIXES[step]}"


def _to_milli(amount: Amount) -> Amount:
    size = -(-abs(amount.nanos) // _MILLI_IN_NANOS) * _MILLI_IN_NANOS
    return Amount(size if amount.nanos > 0 else -size, amount.notation)


def add(total: dict[str, Amount], resources: dict[str, Amount]) -> None:
    """Adds each resource to `total`, in place."""
    for name, amount in resources.items():
        before = total.get(name)
        if before is None or before.nanos == 0:
            total[name] = amount
        else:
            total[name] = Amount(before.nanos + amount.nanos, before.notation)


def raise_to(total: dict[str, Amount], resources: Iterable[tuple[str, Amount]]) -> None:
    """Raises each resource in `total` to at least the given amount, in place."""
    for name, amount in resources:
        if name not in total or amount.nanos > total[name].nanos:
            total[name] = amount
