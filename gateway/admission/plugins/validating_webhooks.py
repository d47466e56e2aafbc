"""ValidatingAdmissionWebhook: asks the webhooks that match a write (page "Dynamic Admission Control")."""

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
    from gateway.admission.webhooks.validating import validate  # imported late: few clusters have them

    return validate


def _make(parts: PluginParts) -> PluginReviews:
    hooks = parts.webhooks.validating
    return PluginReviews(validate=but_of_reviews(parts, asking(parts, hooks, _imported)), idle=hooks)


PLUGIN = Plugin(
    "ValidatingAdmissionWebhook",
    lambda resource, operation: True,
    _make,
    manifests=partial(configure, "ValidatingAdmissionWebhook", "ValidatingWebhookConfiguration"),
)
