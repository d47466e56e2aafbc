"""MutatingAdmissionWebhook: the webhooks that match a write change its object (page "Dynamic Admission Control")."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from gateway.admission.asking import asking
from gateway.admission.chain import Plugin, Reviews
from gateway.admission.webhooks.files import configure

if TYPE_CHECKING:
    from gateway.admission.asking import Ask
    from gateway.admission.webhooks.configuration import Hook


def _imported() -> Ask[Hook]:
    from gateway.admission.webhooks.mutating import mutate  # what calls others, which few clusters have

    return mutate


PLUGIN = Plugin(
    "MutatingAdmissionWebhook",
    lambda resource, operation: True,
    lambda parts: Reviews(admit=asking(parts, parts.webhooks.mutating, _imported), idle=parts.webhooks.mutating),
    configure=partial(configure, "MutatingAdmissionWebhook", "MutatingWebhookConfiguration"),
)
