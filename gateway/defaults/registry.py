"""Which module holds the defaults of which kind; a module is imported when its first kind is needed."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from gateway.jsontypes import JsonObject

Defaulter = Callable[[JsonObject], None]

MODULES: dict[tuple[str, str], str] = {}

_loaded: dict[tuple[str, str], Defaulter] = {}


def defaulter_for(api_version: str, kind: str) -> Defaulter | None:
    """The function that defaults objects of this served version, or None when the kind has no defaults."""
    key = (api_version, kind)
    found = _loaded.get(key)
    if found is None and key in MODULES:
        module = import_module(f"gateway.defaults.{MODULES[key]}")
        found = _loaded[key] = module.DEFAULTERS[key]
    return found
