"""The one thing that defaulting does to quantities: nothing finer than a thousandth is kept in a resource list.

Source: Kubernetes API reference, "Quantity"; "Resource Management for Pods and Containers" (no precision below 1m).
"""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.schema.quantity import parse_quantity

_MILLI = -3


def round_up(resources: JsonObject) -> None:
    """Rounds the quantities of a resource list up to thousandths, in place."""
    for name, text in resources.items():
        if text[-1:] in "nu" or "." in text or "-" in text:  # others have no such fraction
            resources[name] = str(parse_quantity(text).rounded_up(_MILLI))
