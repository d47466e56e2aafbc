"""MutatingAdmissionWebhook: the webhooks that match a write change its object (page "Dynamic Admission Control")."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from gateway.admission.chain import Plugin, PluginParts, PluginReviews
from gateway.admission.plugin_review import asking, but_of_reviews
from gateway.admission.webhooks.files import configure

if TYPE_CHECKING:
    from gateway.admission.plugin_review import Ask
    from gateway.admission.webhooks.configuration import Hook


def _imported() -> Ask[Hook]:
    from gateway.admission.webhooks.mutating import mutate  # imported late: few clusters have webhooks

    return mutate


def _make(parts: PluginParts) -> PluginReviews:
    hooks = parts.webhooks.mutating
    return PluginReviews(admit=but_of_reviews(parts, asking(parts, hooks, _imported)), idle=hooks)


PLUGIN = Plugin(
    "MutatingAdmissionWebhook",
    lambda resource, operation: True,
    _make,
    manifests=partial(configure, "MutatingAdmissionWebhook", "MutatingWebhookConfiguration"),
)
