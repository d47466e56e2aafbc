"""Resource quantities ("100m", "1.5Gi"): parsed, compared, added and written in canonical form.

Kubernetes API reference, "Quantity". A quantity is a fixed-point number with at most nine decimal places. It keeps the
family of its suffix. As in kube-apiserver, a text that needs no change is kept as it is ("+5", "0100").

There are two differences from kube-apiserver. A number that is too great for the suffixes is written with an exponent;
kube-apiserver leaves the exponent out (kubernetes issue 140459). An exponent of more than 32 bits is refused;
kube-apiserver keeps its lower 32 bits (141203).
"""

from __future__ import annotations

import re
from decimal import Decimal
from enum import Enum
from functools import total_ordering

from gateway.memo import memo

MAX_DIGITS = 10_000
"""A number with more digits is refused: computing with it takes time that grows with the square of the digits."""

_MAX_INT64 = (1 << 63) - 1
_FAST_DIGITS = 18
_MAX_EXPONENT = (1 << 31) - 1
_INT32_DIGITS = 10
_EXACT_POWER = 18  # 10**18 is the greatest power of ten in 64 bits
_NANO = -9
_NEAR = 40  # if scales differ by less, both numbers are computed in the lower scale at once


class SuffixFamily(Enum):
    """A family of suffixes."""

    DECIMAL = "DecimalSI"
    BINARY = "BinarySI"
    EXPONENT = "DecimalExponent"


class QuantityError(ValueError):
    """A text is not a quantity; the message is kube-apiserver's."""


WRONG_FORMAT = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
WRONG_NUMBER = "unable to parse numeric part of quantity"
WRONG_SUFFIX = "unable to parse quantity's suffix"

_DECIMAL_EXPONENTS = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY_EXPONENTS = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIXES = {exponent: suffix for suffix, exponent in _DECIMAL_EXPONENTS.items()}
_BINARY_SUFFIXES = ("", *_BINARY_EXPONENTS)

_split = re.compile(r"([+-]?0*+)([0-9]*+)(?:\.([0-9]*+))?+([eEinumkKMGTP]*+[-+]?[0-9]*+)", re.ASCII).fullmatch
_exponent = re.compile(r"[eE]([+-]?)([0-9]+)", re.ASCII).fullmatch


@total_ordering
class Quantity:
    """The number unscaled * 10**scale, with its format. It may keep the text that it was parsed from.

    A scale may be any 32-bit integer, so a number may have too many digits to be written out. Numbers that are far
    apart are compared by their exponents, and their sum is the greater one. No sum has more than 2 * MAX_DIGITS digits.
    `large` is true for a quantity that kube-apiserver keeps as a decimal of any size, and not in 64 bits.
    """

    __slots__ = ("_text", "format", "large", "scale", "unscaled")

    def __init__(
        self,
        unscaled: int,
        scale: int = 0,
        format: SuffixFamily = SuffixFamily.DECIMAL,
        text: str = "",
        *,
        large: bool = False,
    ) -> None:
        self.unscaled, self.scale, self.format, self._text, self.large = unscaled, scale, format, text, large

    def __str__(self) -> str:
        if not self._text:
            self._text = _canonical(self.unscaled, self.scale, self.format)
        return self._text

    def __repr__(self) -> str:
        return f"Quantity({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and _compare(self, other) == 0

    def __lt__(self, other: Quantity) -> bool:
        return _compare(self, other) < 0

    def __gt__(self, other: Quantity) -> bool:
        return _compare(self, other) > 0

    def __hash__(self) -> int:
        return hash(_reduced(self.unscaled, self.scale))

    def __bool__(self) -> bool:
        return self.unscaled != 0

    def __add__(self, other: Quantity) -> Quantity:
        """The sum, in the format of the first term that is not zero."""
        if self.scale == other.scale and not (self.large or other.large):
            both = self.unscaled + other.unscaled
            format = self.format if self.unscaled else other.format
            return Quantity(both, self.scale, format, large=not -_MAX_INT64 <= both <= _MAX_INT64)
        gap = self.scale - other.scale
        if -_NEAR < gap < _NEAR and not (self.large or other.large) and self.unscaled and other.unscaled:
            if gap > 0:
                both, scale = self.unscaled * 10**gap + other.unscaled, other.scale
            else:
                both, scale = self.unscaled + other.unscaled * 10**-gap, self.scale
            return Quantity(both, scale, self.format, large=not -_MAX_INT64 <= both <= _MAX_INT64)
        format = self.format if self else other.format
        if (self.scale != other.scale or self.large or other.large) and self and other:
            greater = max(self, other, key=_magnitude)
            if _magnitude(greater) - min(self.scale, other.scale) > 2 * MAX_DIGITS:
                return Quantity(greater.unscaled, greater.scale, format, large=greater.large)
        scale = min(self.scale if self else other.scale, other.scale if other else self.scale)
        unscaled = _at(self, scale) + _at(other, scale)
        return Quantity(unscaled, scale, format, large=abs(unscaled) > _MAX_INT64)

    def __sub__(self, other: Quantity) -> Quantity:
        return self + -other

    def __neg__(self) -> Quantity:
        return Quantity(-self.unscaled, self.scale, self.format, large=self.large)

    def scaled(self, scale: int) -> int:
        """The value in units of 10**scale, rounded away from zero, as kube-apiserver computes it in 64 bits.

        A value that does not fit becomes 0, or wraps around if the quantity is `large`.
        """
        power = self.scale - scale
        if power < 0:
            return _wrapped(self._rounded(scale))
        if self.large:
            return _wrapped(self.unscaled * (10**power if power <= _EXACT_POWER else -_MAX_INT64 - 1))
        value: int = self.unscaled * 10**power if power <= _EXACT_POWER else 0
        return value if -_MAX_INT64 <= value <= _MAX_INT64 else 0

    def _rounded(self, scale: int) -> int:
        """The value in units of 10**scale, rounded away from zero. `scale` must be above the quantity's own."""
        divisor: int = 10 ** (scale - self.scale)
        size = -(-abs(self.unscaled) // divisor)
        return size if self.unscaled >= 0 else -size

    @property
    def value(self) -> int:
        """The value in whole units, rounded away from zero."""
        return self.scaled(0)

    @property
    def milli_value(self) -> int:
        return self.scaled(-3)

    def rounded_up(self, scale: int) -> Quantity:
        """The quantity rounded away from zero to a multiple of 10**scale; itself if it has no smaller digits."""
        return self if self.scale >= scale else Quantity(self._rounded(scale), scale, self.format, large=self.large)


@memo()
def parse_quantity(text: str) -> Quantity:
    """The quantity that a text stands for. Raises QuantityError."""
    if not text:
        raise QuantityError(WRONG_FORMAT)
    parts = _split(text)
    if parts is None:
        raise QuantityError(WRONG_FORMAT)
    lead, number, places, suffix = parts.groups(default="")
    exponent, format = _interpret(suffix)
    number = number or "0"
    negative = text[0] == "-"
    quantity = _parse_small(text, negative, number, places, exponent, format)
    if quantity is None:
        if not (places or parts[2] or lead.endswith("0")):
            raise QuantityError(WRONG_NUMBER)
        digits = (number + places).lstrip("0") or "0"
        if len(digits) > MAX_DIGITS:
            raise QuantityError(WRONG_NUMBER)
        quantity = _parse_large(negative, int(Decimal(digits)), -len(places), exponent, format)
    if exponent > _MAX_EXPONENT - MAX_DIGITS and _reduced(quantity.unscaled, quantity.scale)[1] > _MAX_EXPONENT:
        raise QuantityError(WRONG_SUFFIX)  # its canonical form could not be parsed again
    return quantity


@memo()
def canonical(text: str) -> str:
    """The text as kube-apiserver writes it back. Raises QuantityError."""
    return str(parse_quantity(text))


def _interpret(suffix: str) -> tuple[int, SuffixFamily]:
    if suffix in _DECIMAL_EXPONENTS:
        return _DECIMAL_EXPONENTS[suffix], SuffixFamily.DECIMAL
    if suffix in _BINARY_EXPONENTS:
        return _BINARY_EXPONENTS[suffix], SuffixFamily.BINARY
    parts = _exponent(suffix)
    if parts is None or len(digits := parts[2].lstrip("0")) > _INT32_DIGITS:
        raise QuantityError(WRONG_SUFFIX)
    exponent = int(parts[1] + (digits or "0"))
    if not -_MAX_EXPONENT - 1 <= exponent <= _MAX_EXPONENT:
        raise QuantityError(WRONG_SUFFIX)
    return exponent, SuffixFamily.EXPONENT


def _parse_small(
    text: str, negative: bool, number: str, places: str, exponent: int, format: SuffixFamily
) -> Quantity | None:
    """The quantity if it certainly fits 64 bits, else None. Only such a quantity can keep its text."""
    digits = number + places
    factor = 1
    if format is SuffixFamily.BINARY:
        if places or 15 - len(number) - int(exponent * 3 / 10) - 1 < 0:
            return None
        scale, factor = 0, 1 << exponent
    else:
        scale = exponent - len(places)
        if len(digits) > _FAST_DIGITS or scale < _NANO:
            return None
    size = int(digits)
    unscaled = size * factor
    if unscaled > _MAX_INT64:
        return None
    if format is SuffixFamily.BINARY:
        keep = size & 7 != 0
    else:
        keep = scale % 3 == 0 and not digits.endswith("000") and digits[0] != "0"
    return Quantity(-unscaled if negative else unscaled, scale, format, text if keep or text == "0" else "")


def _parse_large(negative: bool, size: int, scale: int, exponent: int, format: SuffixFamily) -> Quantity:
    if format is SuffixFamily.BINARY:
        size <<= exponent
    else:
        scale += exponent
    if scale < _NANO:
        lost = min(_NANO - scale, len(_digits(size)) + 1)  # to cut more digits gives the same one billionth
        size, scale = -(-size // 10**lost), _NANO
    if format is SuffixFamily.BINARY and size > _MAX_INT64 * 10**-scale:
        size, scale = _MAX_INT64, 0
    if format is SuffixFamily.BINARY and 0 < size < 10**-scale:
        format = SuffixFamily.DECIMAL
    return Quantity(-size if negative else size, scale, format, large=True)


def _canonical(unscaled: int, scale: int, format: SuffixFamily) -> str:
    if not unscaled:
        return "0"
    sign, size = ("-", -unscaled) if unscaled < 0 else ("", unscaled)
    if format is SuffixFamily.BINARY and scale <= MAX_DIGITS:
        whole, rest = (size * 10**scale, 0) if scale >= 0 else divmod(size, 10**-scale)
        if whole >= 1024 and not rest:
            step = 0
            while whole % 1024 == 0 and step < len(_BINARY_SUFFIXES) - 1:
                whole, step = whole // 1024, step + 1
            return f"{sign}{_digits(whole)}{_BINARY_SUFFIXES[step]}"
        format = SuffixFamily.DECIMAL
    size, scale = _reduced(size, scale)
    digits, scale = _digits(size * 10 ** (scale % 3)), scale - scale % 3
    if (format is SuffixFamily.EXPONENT and scale) or scale not in _DECIMAL_SUFFIXES:
        return f"{sign}{digits}e{scale}"
    return f"{sign}{digits}{_DECIMAL_SUFFIXES[scale]}"


def _digits(size: int) -> str:
    """The decimal digits of a non-negative number. Python's `str` refuses more than 4 300 digits."""
    return str(size) if size < 1 << 64 else format(Decimal(size), "f")


def _magnitude(quantity: Quantity) -> int:
    """The exponent of the least power of ten that is greater than the number's absolute value."""
    size = abs(quantity.unscaled)
    if size < 1 << 64:
        return len(str(size)) + quantity.scale
    digits = size.bit_length() * 30_103 // 100_000  # log10(2): never more than there are
    while 10**digits <= size:
        digits += 1
    return digits + quantity.scale


def _wrapped(value: int) -> int:
    """The lower 64 bits of a number, as a signed integer."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def _reduced(unscaled: int, scale: int) -> tuple[int, int]:
    """The same number without trailing zeros in the unscaled part."""
    if not unscaled:
        return 0, 0
    if unscaled % 10:
        return unscaled, scale
    digits = _digits(abs(unscaled))
    zeros = len(digits) - len(digits.rstrip("0"))
    return unscaled // 10**zeros, scale + zeros


def _at(quantity: Quantity, scale: int) -> int:
    """The number in units of 10**scale; `scale` must not be above the quantity's own."""
    return quantity.unscaled * 10 ** (quantity.scale - scale) if quantity.unscaled else 0


def _compare(one: Quantity, other: Quantity) -> int:
    if one.scale == other.scale or not one.unscaled or not other.unscaled:
        return (one.unscaled > other.unscaled) - (one.unscaled < other.unscaled)
    gap = one.scale - other.scale
    if -_NEAR < gap < _NEAR:
        left = one.unscaled * 10**gap if gap > 0 else one.unscaled
        right = other.unscaled * 10**-gap if gap < 0 else other.unscaled
        return (left > right) - (left < right)
    positive = one.unscaled > 0
    if positive != (other.unscaled > 0):
        return 1 if positive else -1
    # Exponents can be huge: numbers of different magnitude are compared without computing their digits.
    lengths = [_magnitude(one), _magnitude(other)]
    if lengths[0] != lengths[1]:
        return 1 if (lengths[0] > lengths[1]) is positive else -1
    scale = min(one.scale, other.scale)
    left, right = _at(one, scale), _at(other, scale)
    return (left > right) - (left < right)
