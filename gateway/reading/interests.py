"""Chooses a watch's interest: one exact value of its selection, by which changes find the watches that they concern.

Changes are matched by fields and labels of the stored object. If a conversion webhook may change these, only keys and
prefixes are used.
"""

from __future__ import annotations

from gateway.endpoints.endpoint import Endpoint
from gateway.reading.list_options import ListOptions
from storage.waiters import Interest, InterestKind


def interest_of(endpoint: Endpoint, prefix: bytes, options: ListOptions) -> Interest | None:
    """The narrowest interest: a key, else a field, a label, or a prefix (a namespace). None without an exact value."""
    narrowed = prefix != endpoint.cache.spec.prefix
    if options.name and (narrowed or not endpoint.resource.namespaced):
        return Interest(InterestKind.KEY, "", prefix + options.name.encode())
    if endpoint.versions.selects:
        return Interest(InterestKind.PREFIX, "", prefix) if narrowed else None
    if options.exact_field is not None:
        return Interest(InterestKind.FIELD, *options.exact_field)
    if options.exact_label is not None:
        return Interest(InterestKind.LABEL, *options.exact_label)
    return Interest(InterestKind.PREFIX, "", prefix) if narrowed else None
