"""Chooses the one exact value of a watcher's selection by which it is found when an object changes.

What is found so are fields and labels as stored. Where a webhook may serve others, only the key tells.
"""

from __future__ import annotations

from gateway.endpoints.endpoint import Endpoint
from gateway.reading.list_options import ListOptions
from gateway.selectors import labels
from storage.waking import By, Interest


def interest_of(endpoint: Endpoint, prefix: bytes, options: ListOptions) -> Interest | None:
    """The most telling one: a key, a field, a label, the namespace. None when there is no exact value."""
    narrowed = prefix != endpoint.cache.spec.prefix
    if options.name and (narrowed or not endpoint.resource.namespaced):
        return Interest(By.KEY, "", prefix + options.name.encode())
    if endpoint.versions.selects:
        return Interest(By.PREFIX, "", prefix) if narrowed else None
    if options.exact_field is not None:
        return Interest(By.FIELD, *options.exact_field)
    label = labels.exact_value(options.label_selector)
    if label is not None:
        return Interest(By.LABEL, *label)
    return Interest(By.PREFIX, "", prefix) if narrowed else None
