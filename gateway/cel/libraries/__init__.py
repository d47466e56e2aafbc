"""The implementations of the functions of Kubernetes' CEL environment, one module for each library."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any


@cache
def implementations() -> dict[str, Callable[..., Any]]:
    """The Python functions by the ids of the CEL overloads."""
    from gateway.cel.conversions import CONVERSIONS
    from gateway.cel.libraries import (
        addresses,
        authorizer,
        formats,
        lists,
        optionals,
        quantities,
        regex,
        semver,
        sets,
        standard,
        strings,
        times,
        urls,
    )

    modules = (
        standard,
        strings,
        lists,
        sets,
        optionals,
        times,
        regex,
        urls,
        addresses,
        quantities,
        semver,
        formats,
        authorizer,
    )
    found = dict(CONVERSIONS)
    for module in modules:
        found |= module.OVERLOADS
    return found
