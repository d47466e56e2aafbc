"""Rounds the quantities of resource lists up to thousandths; defaulting changes nothing else in quantities.

Source: Kubernetes API reference, "Quantity"; "Resource Management for Pods and Containers" (no precision below 1m).
"""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.schema.quantity import parse_quantity

_MILLI = -3


def round_up(resources: JsonObject) -> None:
    """Rounds the quantities of a resource list up to thousandths, in place."""
    for name, text in resources.items():
        if text[-1:] in "nu" or "." in text or "-" in text:  # no other form can be finer than a thousandth
            resources[name] = str(parse_quantity(text).rounded_up(_MILLI))
