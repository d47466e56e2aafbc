"""Fills in what a client left out of a built-in object, as the API server does before it admits a write.

The rule is API Concepts, "Resources and their default values". A field that a client leaves out gets the default of the
version that the client uses. The object is stored and answered with it. The Kubernetes API reference names the defaults
on each kind's page ("Defaults to ..."). The facts here are those of the default minor (`gateway.release`), with the
default values of its feature gates. They are in tables (`gateway.defaults.table` says how to read one), one module a
group. The few defaults that depend on other fields, or on the time, are named functions beside the table that uses
them.

These functions also normalise an object, as the API server does when it decodes one. Deprecated fields and their
successors get the same value (`serviceAccount`, `podIP`, `podCIDR`). `stringData` moves into `data`. Annotations that
have become fields are dropped. Quantities in resource lists are rounded up to thousandths.

The input is a decoded object: no nulls, canonical quantities, and no zero value where Go omits one. Applying defaults
twice changes nothing. Kinds that are not in `gateway.defaults.registry` have no defaults.
"""

from __future__ import annotations

from gateway.defaults.registry import defaulter_for, gated_defaulter_for
from gateway.jsontypes import JsonObject


def apply_defaults(api_version: str, kind: str, obj: JsonObject) -> None:
    """Sets the defaults of `kind` in `obj` in place; a kind without defaults is left as it is."""
    apply = defaulter_for(api_version, kind)
    if apply is not None:
        apply(obj)


def apply_gated_defaults(api_version: str, kind: str, obj: JsonObject) -> None:
    """As `apply_defaults`, for a kind of `registry.GATED` whose gate is on. Raises KeyError for another kind."""
    gated_defaulter_for(api_version, kind)(obj)
