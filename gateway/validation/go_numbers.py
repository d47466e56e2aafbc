"""How Go prints numbers."""

from __future__ import annotations

from gateway.jsontypes import Whole


def go_float(value: float) -> str:
    """A float64 as Go's %v has it: the shortest form, with an exponent below 1e-4 and from 1e6 on."""
    digits, _, power = f"{value:.17e}".partition("e")
    digits = next(text for n in range(18) if float(text := f"{value:.{n}e}") == value).partition("e")[0]
    exponent = int(power)
    if -4 <= exponent < 6:
        return f"{value:.{max(len(digits.lstrip('-').replace('.', '')) - 1 - exponent, 0)}f}"
    return f"{digits}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


def go_number(value: float) -> str:
    """A number of JSON as Go's %v has it: integers of 64 bits that came as such, all others as floats."""
    if isinstance(value, int) and type(value) is not Whole and -(2**63) <= value < 2**63:
        return str(value)
    return go_float(float(value))
