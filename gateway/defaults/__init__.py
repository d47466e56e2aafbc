"""Fills in what a client left out of a built-in object, as the API server does before it admits a write.

The rule is API Concepts, "Resources and their default values": a field that a client leaves out gets the default of
the version the client speaks, and the object is stored and answered with it. Which field has which default is said on
each kind's page of the Kubernetes API reference ("Defaults to ..."); the facts here are those of 1.36 with its feature
gates as they come. They stand in tables (`gateway.defaults.table` says how to read one), one module a group; the few
defaults that depend on other fields, or on now, are named functions beside the table that uses them.

Besides defaults, these functions settle what the API server settles whenever it decodes an object, so that whatever
looks at it later sees one form: deprecated fields and their successors show the same value (`serviceAccount`, `podIP`,
`podCIDR`), `stringData` moves into `data`, annotations that older versions used for what are fields now go away, and
quantities in resource lists have nothing finer than a thousandth.

Objects arrive decoded: no nulls, canonical quantities, and no zero value where Go omits one. Applying defaults twice
changes nothing. Kinds that are not in `gateway.defaults.registry` have no defaults.
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
    """As `apply_defaults`, with the defaults that a kind has where its gate is on."""
    gated_defaulter_for(api_version, kind)(obj)
