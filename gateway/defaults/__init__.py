"""Fills in what a client left out of a built-in object, as the API server does before it admits a write."""

from __future__ import annotations

from gateway.defaults.registry import defaulter_for
from gateway.jsontypes import JsonObject


def apply_defaults(api_version: str, kind: str, obj: JsonObject) -> None:
    """Sets the defaults of `kind` in `obj` in place; a kind without defaults is left as it is."""
    apply = defaulter_for(api_version, kind)
    if apply is not None:
        apply(obj)
