"""Decides whether one type can be assigned to another, and finds the values of type parameters.

Source: cel-spec, "Gradual type checking". The rules are tried in the order of cel-go's checker.
"""

from __future__ import annotations

from gateway.cel.types import DYN, CelType, Kind, is_optional, same

_NULLABLE = {Kind.OPAQUE, Kind.STRUCT, Kind.DURATION, Kind.TIMESTAMP}
_CONTAINERS = {Kind.OPAQUE, Kind.LIST, Kind.MAP}
_UNKNOWN = {Kind.DYN, Kind.ERROR}

Bindings = dict[str, CelType]


class Substitutions:
    """The types that the checker has substituted for the type parameters of an expression."""

    __slots__ = ("_bound", "_count")

    def __init__(self) -> None:
        self._bound: Bindings = {}
        self._count = 0

    def fresh(self) -> CelType:
        """A new type parameter without a substitution."""
        self._count += 1
        return CelType(Kind.PARAMETER, f"_var{self._count - 1}")

    def assignable(self, one: CelType, other: CelType) -> bool:
        """Whether `one` and `other` are assignable. Stores the substitutions that follow from it."""
        if one is other and not one.generic:
            return True
        return self.all_assignable([one], [other])

    def all_assignable(self, given: list[CelType], wanted: list[CelType]) -> bool:
        """Whether each of `given` and its counterpart in `wanted` are assignable.

        Stores the substitutions that follow from it; none if one pair is not assignable.
        """
        if len(given) != len(wanted):
            return False
        kept = dict(self._bound)
        for one, other in zip(given, wanted, strict=True):
            if not self._assignable(one, other):
                self._bound = kept
                return False
        return True

    def _assignable(self, one: CelType, other: CelType) -> bool:
        if other.kind is Kind.PARAMETER:
            valid, bound = self._substitutes(one, other)
            if valid or bound:
                return valid
        if one.kind is Kind.PARAMETER:
            return self._substitutes(other, one)[0]
        if one.kind in _UNKNOWN or other.kind in _UNKNOWN:
            return True
        if one.kind is Kind.NULL:
            return other.kind in _NULLABLE or other.kind is Kind.NULL
        if other.kind is Kind.NULL:
            return one.kind in _NULLABLE
        if one.kind is not other.kind:
            return False
        if one.kind is Kind.TYPE:
            return True
        if one.kind in _CONTAINERS:
            if one.name != other.name or len(one.parameters) != len(other.parameters):
                return False
            return all(map(self._assignable, one.parameters, other.parameters))
        return one.name == other.name

    def _substitutes(self, one: CelType, parameter: CelType) -> tuple[bool, bool]:
        """Whether `one` may be substituted for `parameter`, and whether `parameter` had a substitution already."""
        if same(one, parameter):
            return True, True
        known = self._bound.get(parameter.name)
        if known is not None:
            if same(one, known):
                return True, True
            if self._assignable(one, known):
                general = most_general(one, known)
                if self._apart(parameter, general):
                    self._bound[parameter.name] = general
                return True, True
            return False, True
        if self._apart(parameter, one):
            self._bound[parameter.name] = one
            return True, False
        return False, False

    def _apart(self, parameter: CelType, within: CelType) -> bool:
        if same(parameter, within):
            return False
        if within.kind is Kind.PARAMETER:
            known = self._bound.get(within.name)
            return known is None or self._apart(parameter, known)
        return all(self._apart(parameter, each) for each in within.parameters)

    def apply(self, to: CelType, *, final: bool = False) -> CelType:
        """A type with its type parameters substituted. `final`: parameters without a substitution become dyn."""
        if not to.generic:
            return to
        if to.kind is Kind.PARAMETER:
            known = self._bound.get(to.name)
            if known is not None:
                return self.apply(known, final=final)
            return DYN if final else to
        return CelType(to.kind, to.name, *(self.apply(each, final=final) for each in to.parameters))


def rename(of: CelType, names: dict[str, CelType]) -> CelType:
    """A type with its type parameters replaced by those in `names`."""
    if not of.generic:
        return of
    if of.kind is Kind.PARAMETER:
        return names[of.name]
    return CelType(of.kind, of.name, *(rename(each, names) for each in of.parameters))


def most_general(one: CelType, other: CelType) -> CelType:
    """The more general of two types."""
    return one if _says_no_more(one, other) else other


def _says_no_more(one: CelType, other: CelType) -> bool:
    if one.kind in (Kind.DYN, Kind.PARAMETER):
        return True
    if other.kind in (Kind.DYN, Kind.PARAMETER) or one.kind is not other.kind:
        return False
    if one.kind is Kind.TYPE:
        return True
    if one.kind in _CONTAINERS:
        if one.name != other.name or len(one.parameters) != len(other.parameters):
            return False
        return all(map(_says_no_more, one.parameters, other.parameters))
    return same(one, other)


def unwrapped(of: CelType) -> tuple[CelType, bool]:
    """The type within an optional type and True; for another type, itself and False."""
    return (of.parameters[0], True) if is_optional(of) else (of, False)
