"""An edition of CEL: how the versions of cel-go and of Kubernetes' libraries differ between minors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Edition:
    """One edition. `implementations` take the place of those that all editions have, by overload; so do `costs`."""

    name: str
    absent: frozenset[str] = frozenset()  # functions
    withdrawn: frozenset[str] = frozenset()  # overloads
    implementations: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    costs: Mapping[str, Callable[[tuple[Any, ...], Any], int]] = field(default_factory=dict)
    # the greatest length of the name of an object, for estimates of costs; 0 if they do not know it
    longest_name: int = 0
    # whether a set or keyed list equals no list with a duplicate, and sets of lists or maps are errors
    strict_sets: bool = False
    global_matches: bool = False  # whether matches(text, pattern) is estimated as text.matches(pattern)


FIRST = Edition("cel-go 0.26", absent=frozenset({"includes"}))
